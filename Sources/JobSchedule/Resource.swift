package import Jobs
import SystemSupport

/// Something that bounds how many jobs run: the whole pool, a queue, a type, a key that jobs share, or a fleet's hosts.
package struct Resource: Sendable {
  /// The name of a resource.
  package enum Name: Hashable, Sendable {
    case everything
    case queue(String)
    case type(String)
    case key(String)
    /// The hosts of a fleet that have what a job needs.
    case place(String)
    /// A host of a fleet, by the root of its spool; the schedule has none, but whoever gives hosts their jobs pauses one.
    case host(String)
    /// A schedule of a fleet's hosts, which only they know.
    case schedule(String)
    /// A file whose jobs start when all of them are admitted.
    case file(String)
  }

  let name: Name
  var isPaused = false
  /// True for a place of which no host has a free worker, for a type that a fault of this host holds, and for a file that is
  /// being admitted.
  var isFull = false
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
  /// When the jobs became ready that wait for their start; kept for queues.
  var readyTimes = ReadyTimes()
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
    // One that is free is made anew as such.
    case .place, .file: return !isFull
    case .queue, .type, .host, .schedule: return concurrent == nil && rate == nil && !isFull
    }
  }

  /// True if a job may start now.
  func hasRoom(at now: Int64) -> Bool {
    if isPaused || isFull { return false }
    if let concurrent, running >= concurrent { return false }
    return rate.map { $0.nextTime <= now } ?? true
  }

  /// True if only its rate keeps it from having room.
  var waitsForTime: Bool { !isPaused && !isFull && (concurrent.map { running < $0 } ?? true) }
}

/// The configured limits of a queue or a type; nil for none.
package struct ResourceLimits: Sendable {
  package let name: Resource.Name
  package let concurrent: Int?
  package let rate: JobLimit.Rate?

  package init(_ name: Resource.Name, concurrent: Int?, rate: JobLimit.Rate?) {
    self.name = name
    self.concurrent = concurrent
    self.rate = rate
  }

  /// The names of those that have a limit.
  package static func names(_ limits: [ResourceLimits]) -> Set<Resource.Name> {
    Set(limits.lazy.filter { $0.concurrent != nil || $0.rate != nil }.map(\.name))
  }
}

extension Pause {
  /// The paused resource; nil for a record of a kind that only a later version knows.
  package var resource: Resource.Name? {
    Resource.Name(kind: kind, name: name)
  }
}

/// The record of a resource's name.
extension Resource.Name {
  package var record: (kind: String, name: String) {
    switch self {
    case .everything: ("all", "")
    case .queue(let name): ("queue", name)
    case .type(let name): ("type", name)
    case .key(let name): ("key", name)
    case .place(let name): ("place", name)
    case .host(let name): ("host", name)
    case .schedule(let name): ("schedule", name)
    case .file(let name): ("file", name)
    }
  }

  /// Reads a record; nil for one of a kind that only a later version knows.
  package init?(kind: String, name: String) {
    switch kind {
    case "all": self = .everything
    case "queue": self = .queue(name)
    case "type": self = .type(name)
    case "key": self = .key(name)
    case "place": self = .place(name)
    case "host": self = .host(name)
    case "schedule": self = .schedule(name)
    case "file": self = .file(name)
    default: return nil
    }
  }
}

extension Resource.Name: CustomStringConvertible {
  package var description: String {
    switch self {
    case .everything: "everything"
    case .queue(let queue): "the queue \"\(queue)\""
    case .type(let type): "the type \"\(type)\""
    case .key(let key): "the limit \"\(key)\""
    case .place(let place): "the place \"\(place)\""
    case .host(let root): "the host \"\(root)\""
    case .schedule(let name): "the schedule \"\(name)\""
    case .file(let name): "the file \(name)"
    }
  }

  var isQueueOrType: Bool {
    switch self {
    case .queue, .type: true
    case .everything, .key, .place, .host, .schedule, .file: false
    }
  }

  /// The command that ends a pause.
  package var resumeCommand: String {
    guard let (kind, name) = kindAndName, kind != "all" else { return "bobbinctl resume" }
    return "bobbinctl resume --\(kind) \(displayName(name))"
  }

  /// Kind and name in a pause's record and in the status API; nil for what can't be paused.
  package var kindAndName: (kind: String, name: String)? {
    switch self {
    case .everything, .queue, .type: record
    case .key, .place, .host, .schedule, .file: nil
    }
  }
}

/// A limit of so many starts in any span of a period's length; all of them may come at once.
struct RateLimiter: Sendable, Equatable {
  private let count: Int
  /// In milliseconds.
  let period: Int64
  /// The times of the last starts, on the steady clock, in milliseconds: a ring of at most `count`.
  private var times: [Int64] = []
  /// The place of the oldest, once the ring is full.
  private var oldest = 0

  init(_ rate: JobLimit.Rate) { (count, period) = (rate.count, rate.period.milliseconds) }

  /// The time of the next start, in milliseconds of the steady clock.
  var nextTime: Int64 { times.count < count ? .min : times[oldest] + period }

  /// The time after which no earlier start counts any more.
  var idleTime: Int64 { newest.map { $0 + period } ?? .min }

  private var newest: Int64? { times.isEmpty ? nil : times[oldest == 0 ? times.count - 1 : oldest - 1] }

  /// Counts a start.
  mutating func noteStart(at now: Int64) {
    // Starts too old to count are dropped, so that a seldom used limit stays small.
    if let newest, newest + period <= now { (times, oldest) = ([], 0) }
    if times.count < count { return times.append(now) }
    times[oldest] = now
    oldest = (oldest + 1) % count
  }

  /// A limiter that also remembers starts from before its own, the oldest first.
  func recalling(_ earlier: [Int64]) -> RateLimiter {
    var limiter = self
    (limiter.times, limiter.oldest) = (Array((earlier + times[oldest...] + times[..<oldest]).suffix(count)), 0)
    return limiter
  }

  /// A limiter with another rate that remembers this one's starts.
  func with(_ rate: JobLimit.Rate) -> RateLimiter {
    var limiter = RateLimiter(rate)
    if limiter.count == count && limiter.period == period { return self }
    for time in (times[oldest...] + times[..<oldest]).suffix(limiter.count) { limiter.times.append(time) }
    return limiter
  }
}
