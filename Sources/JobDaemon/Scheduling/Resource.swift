import Jobs

/// Something that bounds how many jobs run: the whole pool, a queue, a type, or a key that jobs share.
struct Resource {
  /// What jobs share.
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
  /// How many jobs name it.
  private(set) var jobCount = 0
  /// How many of them there are in each state.
  private(set) var counts: [JobState: Int] = [:]
  /// The lanes of jobs that name it.
  var lanes: Set<Lane.Key> = []
  /// Lanes that wait for it, by their first jobs.
  var parked = Heap<LaneTurn>()
  /// When its rate is looked at again; `.max` if nothing is armed.
  var alarm = Int64.max

  init(_ name: Name) { self.name = name }

  /// Counts jobs that come to a state, or leave it.
  mutating func count(_ state: JobState, _ step: Int) {
    counts[state, default: 0] += step
    jobCount += step
  }

  /// Whether nothing would be lost with it: no job names it, and no operator or configuration has said anything of it.
  var isForgettable: Bool {
    if jobCount > 0 || isPaused { return false }
    switch name {
    case .everything: return false
    // Bounds of a key come with its jobs.
    case .key: return true
    case .queue, .type: return concurrent == nil && rate == nil
    }
  }

  /// Whether a job may start now.
  func hasRoom(at now: Int64) -> Bool {
    if isPaused { return false }
    if let concurrent, running >= concurrent { return false }
    return rate.map { $0.nextTime <= now } ?? true
  }

  /// Whether only the time keeps it from having room.
  var waitsForTime: Bool { !isPaused && (concurrent.map { running < $0 } ?? true) }
}
