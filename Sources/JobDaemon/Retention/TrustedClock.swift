/// The wall clock as far as it is believed when something is removed for its age.
///
/// A clock that is years ahead by mistake would make everything too old at once. So a moment is believed if it is up to
/// a day later than what was believed before, and beyond that a day more for each hour that the daemon runs. A value
/// without a clock of its own.
struct TrustedClock: Sendable {
  private static let leeway: Int64 = 86_400_000
  /// The factor by which it catches up faster than time passes.
  private static let pace: Int64 = 24

  /// The latest moment that is believed, in milliseconds since 1970.
  private(set) var limit: Int64
  private var steady: Int64

  /// - Parameter limit: the limit of an earlier run; nil if there was none, and the clock is believed.
  init(limit: Int64?, at now: Moment) {
    self.limit = limit ?? now.wall + Self.leeway
    steady = now.steady
  }

  /// The time as far as it is believed.
  mutating func time(at now: Moment) -> Int64 {
    let caughtUp = limit + max(0, now.steady - steady) * Self.pace
    steady = now.steady
    // A clock that is set back for a while does not lower the limit.
    limit = max(limit, min(caughtUp, now.wall + Self.leeway))
    return min(now.wall, limit)
  }

  /// The milliseconds, from the last look on, until a moment is believed to have come.
  func delay(until moment: Int64, at now: Moment) -> Int64 {
    max(0, moment - now.wall, (moment - limit) / Self.pace)
  }
}
