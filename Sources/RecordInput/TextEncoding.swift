import CLinux
import DelimitedText

/// A character encoding, by one of the names that iconv knows.
package struct TextEncoding: Sendable, Hashable, CustomStringConvertible {
  package static let utf8 = TextEncoding(known: "utf-8")
  package static let utf16LittleEndian = TextEncoding(known: "utf-16le")
  package static let utf16BigEndian = TextEncoding(known: "utf-16be")
  package static let utf32LittleEndian = TextEncoding(known: "utf-32le")
  package static let utf32BigEndian = TextEncoding(known: "utf-32be")
  package static let windows1252 = TextEncoding(known: "windows-1252")

  /// In small letters.
  package let name: String

  private init(known name: String) { self.name = name }

  /// Nil if there is no such encoding.
  package init?(_ name: String) {
    var name = name.lowercased()
    switch name {
    case "utf8": name = "utf-8"
    case "utf16": name = "utf-16"
    case "latin-1", "latin1": name = "iso-8859-1"
    case "ascii", "us-ascii": name = "utf-8"
    default: break
    }
    // A slash would begin options of iconv.
    let isName =
      !name.isEmpty
      && name.utf8.allSatisfy {
        switch $0 {
        case 0x30...0x39, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x3A: true
        default: false
        }
      }
    guard isName, name.utf8.count <= 64 else { return nil }
    self.name = name
    guard name != "utf-8" else { return }
    guard let converter = iconv_open("utf-8", name), converter != Self.failure else { return nil }
    iconv_close(converter)
  }

  /// The value that iconv_open returns on failure.
  static var failure: iconv_t? { iconv_t(bitPattern: -1) }

  /// Bytes of the smallest unit that text consists of.
  var unitSize: Int {
    if name.hasPrefix("utf-16") || name.hasPrefix("ucs-2") { return 2 }
    if name.hasPrefix("utf-32") || name.hasPrefix("ucs-4") { return 4 }
    return 1
  }

  package var description: String { name }
}

extension TextEncoding {
  /// Guesses from the first bytes of a text.
  ///
  /// A byte order mark decides; zeros at every other place mean UTF-16, at three of four UTF-32. Text that is not UTF-8,
  /// and in which every byte means something in Windows-1252, is taken for that.
  ///
  /// - Parameters:
  ///   - bytes: the first bytes of the text.
  ///   - isWhole: true if they are the whole text.
  init(guessedFrom bytes: [UInt8], isWhole: Bool) {
    self = Self.marked(bytes) ?? Self.zeros(bytes) ?? Self.bytewise(bytes, isWhole: isWhole)
  }

  /// The encoding that a text is in which is said to be in this one: without a byte order mark, zeros tell the order.
  func ordered(by bytes: [UInt8]) -> TextEncoding {
    guard name == "utf-16" || name == "utf-32", Self.marked(bytes) == nil, let found = Self.zeros(bytes),
      found.unitSize == unitSize
    else { return self }
    return found
  }

  private static func marked(_ bytes: [UInt8]) -> TextEncoding? {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return .utf8 }
    if bytes.starts(with: [0xFF, 0xFE, 0, 0]) { return .utf32LittleEndian }
    if bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return .utf32BigEndian }
    if bytes.starts(with: [0xFF, 0xFE]) { return .utf16LittleEndian }
    if bytes.starts(with: [0xFE, 0xFF]) { return .utf16BigEndian }
    return nil
  }

  private static func zeros(_ bytes: [UInt8]) -> TextEncoding? {
    let part = bytes.prefix(4096)
    guard part.count >= 4, part.count % 2 == 0 || part.count == 4096 else { return nil }
    if let wide = wide(part) { return wide }
    var zeros = (even: 0, odd: 0)
    for (index, byte) in part.enumerated() where byte == 0 {
      if index % 2 == 0 { zeros.even += 1 } else { zeros.odd += 1 }
    }
    // Separators and line ends alone make some, and so do some characters; text of which less than a third is Latin has
    // a byte order mark.
    if zeros.odd * 6 > part.count, zeros.even * 4 < zeros.odd { return .utf16LittleEndian }
    if zeros.even * 6 > part.count, zeros.odd * 4 < zeros.even { return .utf16BigEndian }
    return nil
  }

  /// UTF-32, if every four bytes are a character, and most are one of the first 65,536.
  private static func wide(_ part: ArraySlice<UInt8>) -> TextEncoding? {
    guard part.count % 4 == 0 else { return nil }
    for encoding in [TextEncoding.utf32LittleEndian, .utf32BigEndian] {
      var basic = 0
      let areCharacters = stride(from: part.startIndex, to: part.endIndex, by: 4).allSatisfy { index in
        let unit = part[index..<index + 4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        let value = encoding == .utf32LittleEndian ? unit.byteSwapped : unit
        if value <= 0xFFFF { basic += 1 }
        return value > 0 && Unicode.Scalar(value) != nil
      }
      if areCharacters, basic * 8 > part.count { return encoding }
    }
    return nil
  }

  private static func bytewise(_ bytes: [UInt8], isWhole: Bool) -> TextEncoding {
    var rest = bytes[...]
    let problem = rest.withUnsafeBytes(firstInvalidUTF8)
    // The last character of a part may be cut.
    guard let problem, problem + 4 <= bytes.count || isWhole else { return .utf8 }
    // Text that is UTF-8 up to here was damaged somewhere.
    if rest.prefix(problem).contains(where: { $0 >= 0x80 }) { return .utf8 }
    rest = rest.dropFirst(problem)
    let isText = rest.allSatisfy {
      switch $0 {
      case 0, 0x81, 0x8D, 0x8F, 0x90, 0x9D, 0xFF: false
      default: true
      }
    }
    return isText ? .windows1252 : .utf8
  }
}
