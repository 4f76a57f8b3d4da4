/// The rate of one notifier: so many notices in any minute, and of more events a digest as soon as the minute is over.
///
/// A value without a clock, whose moments are milliseconds on a steady one.
struct NoticeLimiter {
  /// An event, or several, to be told now.
  enum Outgoing: Sendable, Equatable {
    case one(Notice)
    case digest(Digest)
  }

  /// Events that are told together.
  struct Digest: Sendable, Equatable {
    /// The most events that a digest tells of one by one.
    static let listLimit = 100

    private(set) var counts: [Notice.Kind: Int] = [:]
    /// The first of the events.
    private(set) var notices: [Notice] = []

    var count: Int { counts.values.reduce(0, +) }

    mutating func add(_ notice: Notice) {
      counts[notice.kind, default: 0] += 1
      if notices.count < Self.listLimit { notices.append(notice) }
    }

    /// Adds the events of a later digest.
    mutating func add(_ later: Digest) {
      counts.merge(later.counts) { $0 + $1 }
      notices += later.notices.prefix(Self.listLimit - notices.count)
    }
  }

  private static let minute: Int64 = 60_000

  /// The moments of what was told within the last minute, in their order.
  private var told: [Int64] = []
  private var waiting = Digest()
  /// The moment of the next try after one that failed.
  private var retryTime = Int64.min

  /// Takes an event in.
  ///
  /// - Returns: what is to be told at once; nil if the event waits for others.
  mutating func add(_ notice: Notice, limit: Int, at now: Int64) -> Outgoing? {
    waiting.add(notice)
    return next(limit: limit, at: now)
  }

  /// Returns what is to be told by now, and counts it as told.
  mutating func next(limit: Int, at now: Int64) -> Outgoing? {
    guard let due = dueTime(limit: limit), due <= now else { return nil }
    told.removeAll { $0 <= now - Self.minute }
    told.append(now)
    return drain()
  }

  /// The moment at which what waits may be told; nil if nothing waits.
  func dueTime(limit: Int) -> Int64? {
    if waiting.count == 0 { return nil }
    let oldest = told.count < limit ? Int64.min : told[told.count - limit] + Self.minute
    return max(oldest, retryTime)
  }

  /// Takes back what could not be told, to be tried again in a minute.
  mutating func putBack(_ outgoing: Outgoing, at now: Int64) {
    var earlier = Digest()
    switch outgoing {
    case .one(let notice): earlier.add(notice)
    case .digest(let digest): earlier = digest
    }
    earlier.add(waiting)
    waiting = earlier
    retryTime = now + Self.minute
  }

  /// Returns all that waits, at the daemon's end.
  mutating func drain() -> Outgoing? {
    defer { waiting = Digest() }
    if waiting.count == 1, let only = waiting.notices.first { return .one(only) }
    return waiting.count == 0 ? nil : .digest(waiting)
  }
}
