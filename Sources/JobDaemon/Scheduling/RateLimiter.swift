import Jobs

/// Lets so many through in a period, by the generic cell rate algorithm (ITU-T I.371): one number per limit.
struct RateLimiter: Sendable, Equatable {
  /// Microseconds between two, on average.
  private let interval: Int64
  /// How far ahead of its average it may run, in microseconds, so that all of a period may come at once.
  private let tolerance: Int64
  /// When the next one would come if they came evenly, in microseconds of the steady clock.
  private var expected: Int64 = .min

  init(_ rate: JobLimit.Rate) {
    let period = rate.period.milliseconds * 1000
    interval = max(1, period / Int64(rate.count))
    tolerance = period - interval
  }

  /// When the next may be let through, in milliseconds of the steady clock.
  var nextTime: Int64 {
    if expected == .min { return .min }
    return (expected - tolerance + 999) / 1000
  }

  /// When nothing that it has let through counts any more.
  var idleTime: Int64 { expected == .min ? .min : (expected + 999) / 1000 }

  /// Counts one that is let through.
  mutating func take(at now: Int64) { expected = max(expected, now * 1000) + interval }

  /// A limiter with another rate that knows of what this one has let through.
  func with(_ rate: JobLimit.Rate) -> RateLimiter {
    var limiter = RateLimiter(rate)
    limiter.expected = expected
    return limiter
  }
}
