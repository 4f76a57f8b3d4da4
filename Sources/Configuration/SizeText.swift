/// A number of bytes in a text, as systemd writes it: `65536`, `64K`, `10M`, `2G`, `1T`, each step being 1024.
package enum SizeText {
  static var suffixes: [(letter: Character, shift: Int)] { [("T", 40), ("G", 30), ("M", 20), ("K", 10)] }

  /// Parses the text.
  ///
  /// - Returns: Nil for any other text, and for a number that does not fit.
  package static func bytes(_ text: String) -> Int? {
    guard let suffix = suffixes.first(where: { $0.letter == text.last }) else { return Int(text) }
    guard let count = Int(text.dropLast()) else { return nil }
    let (bytes, overflow) = count.multipliedReportingOverflow(by: 1 << suffix.shift)
    return overflow ? nil : bytes
  }
}
