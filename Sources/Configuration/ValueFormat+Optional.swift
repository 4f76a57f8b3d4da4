import TextSupport

extension ValueFormat where Value == Configuration.Rate? {
  /// A number and a time span: `10/s`, `100/15min`; `infinity` for any number.
  static var rate: Self {
    Self(
      allowed: "a number and a time span, such as 10/s or 100/15min, or infinity",
      parse: { text in
        if text == "infinity" { return .some(nil) }
        return RateText.parse(text).map { Configuration.Rate(count: $0.count, period: $0.period) }
      },
      print: { rate in rate.map { RateText.print($0.count, per: $0.period) } ?? "infinity" })
  }
}

extension ValueFormat where Value == BackoffGrowth? {
  /// One of the words, or `default`.
  static var optionalChoice: Self {
    let words = BackoffGrowth.allCases.map(\.rawValue)
    return Self(
      allowed: "one of default, " + words.joined(separator: ", "),
      parse: { text in text == "default" ? .some(nil) : BackoffGrowth(rawValue: text).map { $0 } },
      print: { $0?.rawValue ?? "default" })
  }
}
