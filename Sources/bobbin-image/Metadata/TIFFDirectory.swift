/// The texts of a TIFF structure's first directory: those of a TIFF file, or of EXIF data, which has the same form.
///
/// Source: TIFF revision 6.0, section 2.
struct TIFFDirectory {
  typealias Reader = (_ offset: Int, _ count: Int) -> [UInt8]?

  private let read: Reader
  private let isLittleEndian: Bool
  private let entries: [UInt8]

  /// - Parameter read: gives so many bytes from an offset, or nil if there are fewer.
  init?(_ read: @escaping Reader) {
    guard let start = read(0, 8) else { return nil }
    let isLittleEndian: Bool
    switch start[0..<4] {
    case [0x49, 0x49, 42, 0]: isLittleEndian = true
    case [0x4D, 0x4D, 0, 42]: isLittleEndian = false
    default: return nil
    }
    self.read = read
    self.isLittleEndian = isLittleEndian
    let offset = Self.number(start[4..<8], isLittleEndian)
    guard let count = read(offset, 2).map({ Self.number($0[...], isLittleEndian) }),
      let entries = read(offset + 2, count * 12)
    else { return nil }
    self.entries = entries
  }

  /// The bytes of a text, without the zero at its end; nil if there is none of a length that is not absurd.
  func text(_ tag: Int) -> [UInt8]? {
    for start in stride(from: 0, to: entries.count, by: 12) where number(start, 2) == tag {
      let isText = number(start + 2, 2) == 2
      let count = number(start + 4, 4)
      guard isText, (1...Self.longestText).contains(count) else { return nil }
      let bytes = count <= 4 ? Array(entries[start + 8..<start + 8 + count]) : read(number(start + 8, 4), count)
      guard var text = bytes else { return nil }
      while text.last == 0 { text.removeLast() }
      return text.isEmpty ? nil : text
    }
    return nil
  }

  private static let longestText = 8 << 10

  private func number(_ position: Int, _ count: Int) -> Int {
    Self.number(entries[position..<position + count], isLittleEndian)
  }

  private static func number(_ bytes: ArraySlice<UInt8>, _ isLittleEndian: Bool) -> Int {
    let ordered = isLittleEndian ? Array(bytes.reversed()) : Array(bytes)
    return ordered.reduce(0) { $0 << 8 | Int($1) }
  }
}
