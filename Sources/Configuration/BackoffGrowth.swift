/// The growth of the delay after failed attempts.
package enum BackoffGrowth: String, Sendable, CaseIterable {
  /// The same delay every time.
  case fixed
  /// Once, twice, three times the first delay.
  case linear
  /// Once, twice, four times the first delay.
  case exponential
}
