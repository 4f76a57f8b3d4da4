/// EXIF data that has some texts and nothing else.
struct EXIFData {
  /// What EXIF data begins with in most files.
  static let signature = Array("Exif\0\0".utf8)
  static let artist = 0x13B
  static let copyright = 0x8298

  let bytes: [UInt8]

  /// - Parameter texts: in the order of their tags, without a zero at the end.
  init(_ texts: [(tag: Int, text: [UInt8])]) {
    var directory = Self.bytes(texts.count, 2)
    var values: [UInt8] = []
    let valuesStart = 8 + 2 + texts.count * 12 + 4
    for (tag, text) in texts {
      let text = text + [0]
      directory += Self.bytes(tag, 2) + Self.bytes(2, 2) + Self.bytes(text.count, 4)
      if text.count <= 4 {
        directory += text + [UInt8](repeating: 0, count: 4 - text.count)
      } else {
        directory += Self.bytes(valuesStart + values.count, 4)
        values += text
      }
    }
    bytes = Self.signature + Array("II*\0".utf8) + Self.bytes(8, 4) + directory + Self.bytes(0, 4) + values
  }

  private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
