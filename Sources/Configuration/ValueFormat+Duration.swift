import TextSupport

extension ValueFormat where Value == Duration {
  /// A time span as systemd.time(7) describes it: `250ms`, `5s`, `2min`, `1h 30min`; a number alone is in seconds.
  ///
  /// The resolution is one microsecond, as in systemd; finer fractions are refused rather than rounded. Months and
  /// years are not offered: their length is a convention, and no setting needs them.
  static func duration(in range: ClosedRange<Duration>) -> Self {
    Self(
      allowed: "a time span from \(TimeSpan.print(range.lowerBound)) to \(TimeSpan.print(range.upperBound)), "
        + "such as 250ms, 5s or 1h 30min",
      parse: { text in TimeSpan.parse(text).flatMap { range.contains($0) ? $0 : nil } },
      print: { TimeSpan.print($0) })
  }
}
