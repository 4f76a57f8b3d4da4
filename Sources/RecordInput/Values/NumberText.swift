import Glibc

/// What the spelling of a decimal number tells about the type that can hold it.
struct NumberText {
  /// Digits that a Double always keeps, and those that it can need.
  private static let keptDigits = 15
  private static let neededDigits = 17

  /// Whether there is neither fraction nor exponent.
  let isWhole: Bool
  /// The digits of the fraction; 0 if there is none.
  let fractionLength: Int
  /// Whether the fraction ends in a zero, which no number needs.
  let isPadded: Bool
  /// Whether the nearest Double stands for the same number.
  let fitsDouble: Bool
  /// Whether a Decimal of 38 digits holds it.
  let fitsDecimal: Bool

  /// Nil for what is no number, and for codes that only look like one: with zeros or a plus in front.
  init?(_ text: UnsafeRawBufferPointer) {
    var index = text.first == UInt8(ascii: "-") ? 1 : 0
    let first = index
    var digits: [UInt8] = []
    // A number of usual length is read without memory of its own.
    var significant = 0
    var trailingZeros = 0
    var wholeCount = 0
    var fractionCount = 0
    var pointSeen = false
    var exponentSeen = false
    let keeps = text.count > Self.keptDigits
    loop: while index < text.count {
      let byte = text[index]
      switch byte {
      case 0x30...0x39:
        if pointSeen { fractionCount += 1 } else { wholeCount += 1 }
        if byte != 0x30 || significant > 0 {
          significant += 1
          trailingZeros = byte == 0x30 ? trailingZeros + 1 : 0
          if keeps { digits.append(byte) }
        }
      case 0x2E where !pointSeen: pointSeen = true
      case 0x45, 0x65:
        exponentSeen = true
        break loop
      default: return nil
      }
      index += 1
    }
    guard wholeCount > 0, !(wholeCount > 1 && text[first] == 0x30) else { return nil }
    // A point needs a digit behind it.
    if pointSeen, !(text[index - 1] &- 0x30 < 10) { return nil }
    var exponent = 0
    if exponentSeen {
      guard let written = Self.exponent(text, index + 1) else { return nil }
      exponent = written
    }
    let needed = significant - trailingZeros
    isWhole = !pointSeen && !exponentSeen
    fractionLength = fractionCount
    isPadded = fractionCount > 0 && !exponentSeen && text[index - 1] == 0x30
    fitsDecimal = significant <= 38 && abs(exponent) <= 60
    fitsDouble = needed <= Self.keptDigits || (needed <= Self.neededDigits && Self.keepsDigits(text, digits, needed))
  }

  private static func exponent(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int? {
    var index = start
    var isNegative = false
    if index < text.count, text[index] == 0x2B || text[index] == 0x2D {
      isNegative = text[index] == 0x2D
      index += 1
    }
    guard index < text.count else { return nil }
    var value = 0
    while index < text.count {
      guard text[index] &- 0x30 < 10 else { return nil }
      value = min(value * 10 + Int(text[index] - 0x30), 1_000)
      index += 1
    }
    return isNegative ? -value : value
  }

  /// Whether the nearest Double, written with as many digits, has the same ones.
  private static func keepsDigits(_ text: UnsafeRawBufferPointer, _ digits: [UInt8], _ count: Int) -> Bool {
    guard let number = Double(String(decoding: text, as: UTF8.self)) else { return false }
    var written = [CChar](repeating: 0, count: 64)
    _ = withVaList([Int32(count - 1), number]) { vsnprintf(&written, 64, "%.*e", $0) }
    var found: [UInt8] = []
    for character in written {
      // Up to the exponent.
      if character == 0x65 || character == 0 { break }
      let byte = UInt8(bitPattern: character)
      if byte &- 0x30 < 10 { found.append(byte) }
    }
    return found.elementsEqual(digits.prefix(count))
  }
}
