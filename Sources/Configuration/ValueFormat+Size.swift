extension Configuration {
  /// A number of bytes as the configuration writes it, such as `64K`; nil if it is not written so or not in the range.
  package static func size(_ text: String, in range: ClosedRange<Int>) -> Int? {
    ValueFormat<Int>.size(in: range).parse(text)
  }
}

extension ValueFormat where Value == Int {
  /// A number of bytes, as systemd writes it: `65536`, `64K`, `10M`, `2G`, `1T`, each step being 1024.
  static func size(in range: ClosedRange<Int>) -> Self {
    Self(
      allowed: "a size from \(printSize(range.lowerBound)) to \(printSize(range.upperBound)), "
        + "in bytes or with K, M, G or T, such as 64K",
      parse: { text in parseSize(text).flatMap { range.contains($0) ? $0 : nil } },
      print: { printSize($0) })
  }

  private static var suffixes: [(letter: Character, shift: Int)] { [("T", 40), ("G", 30), ("M", 20), ("K", 10)] }

  private static func parseSize(_ text: String) -> Int? {
    guard let suffix = suffixes.first(where: { $0.letter == text.last }) else { return Int(text) }
    guard let count = Int(text.dropLast()) else { return nil }
    let (bytes, overflow) = count.multipliedReportingOverflow(by: 1 << suffix.shift)
    return overflow ? nil : bytes
  }

  private static func printSize(_ bytes: Int) -> String {
    for suffix in suffixes where bytes != 0 && bytes % (1 << suffix.shift) == 0 {
      return "\(bytes >> suffix.shift)\(suffix.letter)"
    }
    return String(bytes)
  }
}
