/// The values of a column that are not what the others are: how many, the first of them, and whether they are all one.
struct Misfits: Sendable {
  /// The bytes that are kept of the first one.
  private static let shownSize = 60

  private(set) var count: Int64 = 0
  /// The line of the first one's record.
  private(set) var line = 0
  private var first: [UInt8] = []
  /// True if all of them are the same text.
  private(set) var areOneText = true

  mutating func add(_ field: UnsafeRawBufferPointer, line: Int) {
    count += 1
    if count == 1 {
      self.line = line
      first = Array(field.prefix(Self.shownSize))
      areOneText = field.count <= Self.shownSize
    } else if areOneText, !field.elementsEqual(first) {
      areOneText = false
    }
  }

  /// These together with others.
  func joined(with other: Misfits) -> Misfits {
    if other.count == 0 { return self }
    if count == 0 { return other }
    var all = line <= other.line ? self : other
    all.count = count + other.count
    all.areOneText = areOneText && other.areOneText && first == other.first
    return all
  }

  /// The line and the text of the first one, as reports show it.
  var example: String { "line \(line) \"\(text)\"" }

  /// The first one.
  var text: String { String(decoding: first, as: UTF8.self) + (first.count == Self.shownSize ? "…" : "") }

  /// The text that all of them are, if it is a word such as "n/a" that stands for a missing value.
  var placeholder: String? {
    guard count > 0, areOneText, first.count <= 20, !first.contains(where: { (0x30...0x39).contains($0) }) else {
      return nil
    }
    return text
  }
}
