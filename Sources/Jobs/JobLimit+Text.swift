import TextSupport

extension JobLimit.Rate {
  /// Reads `10/s` or `100/15min`; nil if the text is neither.
  package init?(text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let count = Int(parts[0]), (1...1_000_000).contains(count) else { return nil }
    let span = parts[1].first?.isNumber == true ? String(parts[1]) : "1" + parts[1]
    guard let period = TimeSpan.parse(span), period > .zero, period <= .seconds(366 * 86_400) else { return nil }
    self.init(count, per: period)
  }

  /// The text that gives this rate when it is read.
  package var text: String { "\(count)/\(TimeSpan.print(period))" }
}
