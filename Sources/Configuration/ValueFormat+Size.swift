extension ValueFormat where Value == Int {
  /// A number of bytes, as systemd writes it: `65536`, `64K`, `10M`, `2G`, `1T`, each step being 1024.
  static func size(in range: ClosedRange<Int>) -> Self {
    Self(
      allowed: "a size from \(printSize(range.lowerBound)) to \(printSize(range.upperBound)), "
        + "in bytes or with K, M, G or T, such as 64K",
      parse: { text in SizeText.bytes(text).flatMap { range.contains($0) ? $0 : nil } },
      print: { printSize($0) })
  }

  private static func printSize(_ bytes: Int) -> String {
    for suffix in SizeText.suffixes where bytes != 0 && bytes % (1 << suffix.shift) == 0 {
      return "\(bytes >> suffix.shift)\(suffix.letter)"
    }
    return String(bytes)
  }
}
