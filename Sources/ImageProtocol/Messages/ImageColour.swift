/// A colour of sRGB with its opacity, as in style sheets.
package struct ImageColour: Codable, Sendable, Equatable {
  package var red: UInt8
  package var green: UInt8
  package var blue: UInt8
  package var alpha: UInt8

  package static let white = ImageColour(red: 255, green: 255, blue: 255)

  package init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  /// Reads `#rrggbb`, `#rrggbbaa`, `white`, `black` or `transparent`; nil for anything else.
  package init?(_ text: String) {
    switch text {
    case "white": self = .white
    case "black": self.init(red: 0, green: 0, blue: 0)
    case "transparent": self.init(red: 255, green: 255, blue: 255, alpha: 0)
    default:
      let digits = text.utf8.dropFirst()
      guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6 || digits.count == 8,
        digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
        let number = UInt32(text.dropFirst(), radix: 16)
      else { return nil }
      let value = digits.count == 6 ? number << 8 | 0xFF : number
      let part = { (shift: UInt32) in UInt8(truncatingIfNeeded: value >> shift) }
      self.init(red: part(24), green: part(16), blue: part(8), alpha: part(0))
    }
  }

  package var isOpaque: Bool { alpha == 255 }

  /// `#rrggbb`, followed by the opacity if there is less than all of it.
  package var text: String {
    "#"
      + (isOpaque ? [red, green, blue] : [red, green, blue, alpha])
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
