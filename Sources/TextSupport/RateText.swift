/// The text form of a rate: `10/s`, `100/15min`.
package enum RateText {
  /// Parses a number from 1 to a million and a time span of at most a year; nil for any other text.
  package static func parse(_ text: String) -> (count: Int, period: Duration)? {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let count = Int(parts[0]), (1...1_000_000).contains(count) else { return nil }
    let span = parts[1].first?.isNumber == true ? String(parts[1]) : "1" + parts[1]
    guard let period = TimeSpan.parse(span), period > .zero, period <= .seconds(366 * 86_400) else { return nil }
    return (count, period)
  }

  /// The text that parses to this rate.
  package static func text(of count: Int, per period: Duration) -> String { "\(count)/\(TimeSpan.text(of: period))" }
}
