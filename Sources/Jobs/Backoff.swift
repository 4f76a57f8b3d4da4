/// The delay of a job after a failed attempt.
public struct Backoff: Sendable, Hashable {
  /// The growth of the delay from attempt to attempt.
  public enum Growth: String, Sendable, Hashable, CaseIterable {
    /// The same delay every time.
    case fixed
    /// Once, twice, three times the first delay.
    case linear
    /// Once, twice, four times the first delay.
    case exponential
  }

  /// The growth of the delay.
  public var growth: Growth
  /// The delay after the first attempt.
  public var base: Duration
  /// No delay is longer.
  public var limit: Duration
  /// The share by which a delay may be shorter, from 0 to 1, so that jobs that failed together don't come back
  /// together.
  public var jitter: Double

  /// A backoff; by default a second, then two, four and so on, up to an hour, each up to a tenth shorter.
  public init(
    _ growth: Growth = .exponential, base: Duration = .seconds(1), limit: Duration = .seconds(3600),
    jitter: Double = 0.1
  ) {
    self.growth = growth
    self.base = base
    self.limit = limit
    self.jitter = jitter
  }

  /// The delay after an attempt.
  ///
  /// - Parameters:
  ///   - attempt: the number of failed attempts, from 1.
  ///   - random: a number from 0 up to 1, which decides how much shorter the delay is.
  public func delay(after attempt: Int, random: Double) -> Duration {
    let factor: Double =
      switch growth {
      case .fixed: 1
      case .linear: Double(attempt)
      // Beyond it every sensible limit has long been reached, and the power would be infinite.
      case .exponential: Double(sign: .plus, exponent: min(attempt - 1, 60), significand: 1)
      }
    let seconds = min(base / .seconds(1) * factor, limit / .seconds(1))
    return .seconds(seconds * (1 - jitter * random))
  }
}
