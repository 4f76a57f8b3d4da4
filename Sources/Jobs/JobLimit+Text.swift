import TextSupport

extension JobLimit.Rate {
  /// Reads `10/s` or `100/15min`; nil if the text is neither.
  package init?(text: String) {
    guard let (count, period) = RateText.parse(text) else { return nil }
    self.init(count, per: period)
  }

  /// The text that parses to this rate.
  package var text: String { RateText.print(count, per: period) }
}
