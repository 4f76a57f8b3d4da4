import Foundation

/// Brings a text into the form in which `[c]` and `[d]` compare it.
///
/// `[c]` is Unicode's lower case without regard to any language; `[d]` decomposes canonically and drops the marks.
/// Both back ends call this very code, SQLite through a registered function.
package enum TextFolding {
  /// The folded text as UTF-8; bytes that are no UTF-8 become replacement characters.
  package static func fold(_ text: UnsafeRawBufferPointer, _ options: Condition.TextOptions) -> [UInt8] {
    if text.allSatisfy({ $0 < 0x80 }) {
      // ASCII has no marks.
      guard options.contains(.caseInsensitive) else { return Array(text) }
      return text.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
    }
    return Array(fold(String(decoding: text, as: UTF8.self), options).utf8)
  }

  /// Bytes that order as ``TextOrder/localizedStandard`` orders the texts that they are made of.
  ///
  /// A number becomes the digit 0, the count of its digits without leading zeros, and these; the text itself follows.
  package static func standardKey(_ text: UnsafeRawBufferPointer) -> [UInt8] {
    var key: [UInt8] = []
    var rest = fold(text, [.caseInsensitive, .diacriticInsensitive])[...]
    let zero = UInt8(ascii: "0")
    while let byte = rest.first {
      guard byte >= zero, byte <= UInt8(ascii: "9") else {
        key.append(byte)
        rest.removeFirst()
        continue
      }
      let number = rest.prefix { $0 >= zero && $0 <= UInt8(ascii: "9") }
      let digits = number.drop { $0 == zero }
      key += [zero, UInt8(clamping: digits.count)] + digits
      rest = rest[number.endIndex...]
    }
    return key + [0] + text
  }

  /// The folded text.
  package static func fold(_ text: String, _ options: Condition.TextOptions) -> String {
    var text = text
    if options.contains(.diacriticInsensitive) {
      var scalars = String.UnicodeScalarView()
      for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
      where scalar.properties.generalCategory != .nonspacingMark {
        scalars.append(scalar)
      }
      text = String(scalars)
    }
    return options.contains(.caseInsensitive) ? text.lowercased() : text
  }
}

/// The order in which a sort puts texts; none follows the rules of a language.
public enum TextOrder: Sendable, Hashable {
  /// By Unicode code points, which an index serves.
  case codePoints
  /// By code points, in lower case.
  case caseInsensitive
  /// As people expect it of names: without regard to case and marks, and numbers by their value, so that "Page 2" comes
  /// before "page 10". What is the same then is ordered by code points.
  case localizedStandard
}
