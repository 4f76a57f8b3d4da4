import Jobs

/// Something that bounds how many jobs run: the whole pool, a queue, a type, or a key that jobs share.
struct Resource {
  /// The name of a resource.
  enum Name: Hashable, Sendable {
    case everything
    case queue(String)
    case type(String)
    case key(String)
  }

  let name: Name
  var isPaused = false
  var concurrent: Int?
  var rate: RateLimiter?
  var running = 0
  /// The number of jobs that name it.
  private(set) var jobCount = 0
  /// The number of them in each state.
  private(set) var counts: [JobState: Int] = [:]
  /// The lanes of jobs that name it.
  var lanes: Set<Lane.Key> = []
  /// Lanes parked with it, by their first jobs.
  var parked = Heap<LaneTurn>()
  /// The time at which its rate is checked again; `.max` if nothing is armed.
  var alarm = Int64.max

  init(_ name: Name) { self.name = name }

  /// Counts jobs that enter or leave a state.
  mutating func count(_ state: JobState, _ step: Int) {
    counts[state, default: 0] += step
    jobCount += step
  }

  /// True if nothing would be lost with it: no job names it, and neither an operator nor the configuration has set
  /// anything.
  var isForgettable: Bool {
    if jobCount > 0 || isPaused { return false }
    switch name {
    case .everything: return false
    // Bounds of a key come with its jobs.
    case .key: return true
    case .queue, .type: return concurrent == nil && rate == nil
    }
  }

  /// True if a job may start now.
  func hasRoom(at now: Int64) -> Bool {
    if isPaused { return false }
    if let concurrent, running >= concurrent { return false }
    return rate.map { $0.nextTime <= now } ?? true
  }

  /// True if only its rate keeps it from having room.
  var waitsForTime: Bool { !isPaused && (concurrent.map { running < $0 } ?? true) }
}
