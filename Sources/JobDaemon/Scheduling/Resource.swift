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
  /// How many jobs of each state there are.
  var counts: [JobState: Int] = [:]
  /// The lanes of jobs that share this key.
  var lanes: [Lane.Key] = []
  /// Lanes that wait for it, by their first jobs.
  var parked = Heap<LaneTurn>()
  /// When its rate is looked at again; `.max` if nothing is armed.
  var alarm = Int64.max

  init(_ name: Name) { self.name = name }

  /// How many jobs name it.
  var jobCount: Int { counts.values.reduce(0, +) }

  /// Whether a job may start now.
  func hasRoom(at now: Int64) -> Bool {
    if isPaused { return false }
    if let concurrent, running >= concurrent { return false }
    return rate.map { $0.nextTime <= now } ?? true
  }

  /// Whether only the time keeps it from having room.
  var waitsForTime: Bool { !isPaused && (concurrent.map { running < $0 } ?? true) }
}
