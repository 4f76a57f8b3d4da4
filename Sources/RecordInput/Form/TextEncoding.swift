import CLinux

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

  /// What iconv_open returns instead of a converter.
  static var failure: iconv_t? { iconv_t(bitPattern: -1) }

  /// Bytes of the smallest unit that text consists of.
  var unitSize: Int {
    if name.hasPrefix("utf-16") || name.hasPrefix("ucs-2") { return 2 }
    if name.hasPrefix("utf-32") || name.hasPrefix("ucs-4") { return 4 }
    return 1
  }

  package var description: String { name }
}
