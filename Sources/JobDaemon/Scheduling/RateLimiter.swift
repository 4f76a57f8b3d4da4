import Jobs

/// A limit of so many starts in any span of a period's length; all of them may come at once.
struct RateLimiter: Sendable, Equatable {
  private let count: Int
  /// In milliseconds.
  private let period: Int64
  /// The times of the last starts, on the steady clock, in milliseconds: a ring of at most `count`.
  private var times: [Int64] = []
  /// The place of the oldest, once the ring is full.
  private var oldest = 0

  init(_ rate: JobLimit.Rate) {
    count = rate.count
    period = rate.period.milliseconds
  }

  /// The time of the next start, in milliseconds of the steady clock.
  var nextTime: Int64 { times.count < count ? .min : times[oldest] + period }

  /// The time after which no earlier start counts any more.
  var idleTime: Int64 { newest.map { $0 + period } ?? .min }

  private var newest: Int64? { times.isEmpty ? nil : times[oldest == 0 ? times.count - 1 : oldest - 1] }

  /// Counts a start.
  mutating func take(at now: Int64) {
    // Starts too old to count are dropped, so that a seldom used limit stays small.
    if let newest, newest + period <= now { (times, oldest) = ([], 0) }
    if times.count < count { return times.append(now) }
    times[oldest] = now
    oldest = (oldest + 1) % count
  }

  /// A limiter with another rate that remembers this one's starts.
  func with(_ rate: JobLimit.Rate) -> RateLimiter {
    var limiter = RateLimiter(rate)
    if limiter.count == count && limiter.period == period { return self }
    for time in (times[oldest...] + times[..<oldest]).suffix(limiter.count) { limiter.times.append(time) }
    return limiter
  }
}
