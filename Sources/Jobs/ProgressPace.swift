/// The pace of an attempt.
package struct ProgressPace: Sendable, Hashable {
  /// Units per second, over the last seconds in which somebody looked; nil as long as that is not known.
  package var ratePerSecond: Double?
  /// The seconds that the rest takes at that rate; nil if the total is not known, or nothing moves.
  package var secondsLeft: Double?

  /// A pace; without arguments one that is not known.
  package init(ratePerSecond: Double? = nil, secondsLeft: Double? = nil) {
    self.ratePerSecond = ratePerSecond
    self.secondsLeft = secondsLeft
  }
}
