import Glibc

/// The properties of a decimal number's spelling that decide which type can hold it.
struct NumberText {
  /// Digits that a Double always keeps, and those that it can need.
  private static let keptDigits = 15
  private static let neededDigits = 17

  /// True if there is neither fraction nor exponent.
  let isWhole: Bool
  /// The digits of the fraction; 0 if there is none.
  let fractionLength: Int
  /// True if the fraction ends in a zero, which no number needs.
  let isPadded: Bool
  /// True if the nearest Double stands for the same number.
  let fitsDouble: Bool
  /// True if a Decimal of 38 digits holds it.
  let fitsDecimal: Bool

  /// Nil for text that is not a number, and for codes that only look like one: with leading zeros or a plus sign.
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
    // A point needs a digit after it.
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
    fitsDouble =
      needed <= Self.keptDigits || (needed <= Self.neededDigits && Self.keepsDigits(text, digits, count: needed))
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

  /// True if the nearest Double, written with as many digits, has the same ones.
  private static func keepsDigits(_ text: UnsafeRawBufferPointer, _ digits: [UInt8], count: Int) -> Bool {
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

/// A notation of numbers: those such as `1.234,5` have the decimal character `,` and the grouping character `.`.
package struct NumberNotation: Sendable, Hashable {
  private let decimalByte: UInt8
  private let groupingBytes: [UInt8]

  /// - Parameters:
  ///   - decimal: `.` or `,`.
  ///   - grouping: one character between groups of three digits, or an empty text.
  package init(decimal: Character, grouping: String) {
    decimalByte = decimal.asciiValue ?? 0x2E
    groupingBytes = Array(grouping.utf8)
  }

  package var decimal: Character { Character(UnicodeScalar(decimalByte)) }
  package var grouping: String { String(decoding: groupingBytes, as: UTF8.self) }

  /// Spells a number without grouping characters and with a decimal point; false if it is none.
  ///
  /// Groups have three digits, so that a date or a version number is not taken for a number. Whether signs and letters are
  /// where a number has them is not looked at.
  package func spell(_ field: UnsafeRawBufferPointer, into scratch: ByteScratch) -> Bool {
    scratch.removeAll()
    var digits = 0
    var sawGroup = false
    var sawDecimal = false
    var index = 0
    while index < field.count {
      let byte = field[index]
      if (0x30...0x39).contains(byte) {
        digits += 1
        scratch.append(byte)
      } else if !groupingBytes.isEmpty, !sawDecimal, starts(field, at: index) {
        guard sawGroup ? digits == 3 : (1...3).contains(digits) else { return false }
        sawGroup = true
        digits = 0
        index += groupingBytes.count - 1
      } else if byte == decimalByte {
        guard !sawDecimal, !sawGroup || digits == 3 else { return false }
        sawDecimal = true
        sawGroup = false
        scratch.append(0x2E)
      } else if byte == 0x2B || byte == 0x2D || (0x61...0x7A).contains(byte | 0x20) {
        // A sign, or an exponent.
        scratch.append(byte)
      } else {
        return false
      }
      index += 1
    }
    return (!sawGroup || digits == 3) && scratch.bytes.last != 0x2E
  }

  private func starts(_ field: UnsafeRawBufferPointer, at index: Int) -> Bool {
    index + groupingBytes.count <= field.count
      && field[index..<index + groupingBytes.count].elementsEqual(groupingBytes)
  }
}

/// A few bytes that are used again for each field.
package final class ByteScratch {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
  private var count = 0

  package init() {}

  deinit { memory.deallocate() }

  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  package func removeAll() { count = 0 }

  package func append(_ byte: UInt8) {
    if count == memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: count * 2, alignment: 1)
      larger.copyMemory(from: UnsafeRawBufferPointer(memory))
      memory.deallocate()
      memory = larger
    }
    memory[count] = byte
    count += 1
  }

  package func set(_ text: StaticString) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}

/// A text in UTF-8 without the blanks at both ends: those of ASCII and of Unicode, such as no-break spaces, and what has
/// no width.
package func trimmingBlanks(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
  var start = 0
  var end = bytes.count
  while start < end {
    let size = blankSize(bytes, at: start, before: end)
    if size == 0 { break }
    start += size
  }
  while start < end {
    // No blank is longer than three bytes.
    let size = (1...3).first { end - $0 >= start && blankSize(bytes, at: end - $0, before: end) == $0 }
    guard let size else { break }
    end -= size
  }
  return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
}

/// The size of the blank at an index; 0 if there is none.
private func blankSize(_ bytes: UnsafeRawBufferPointer, at index: Int, before end: Int) -> Int {
  let byte = bytes[index]
  if byte < 0x80 { return byte == 0x20 || (0x09...0x0D).contains(byte) ? 1 : 0 }
  let second = index + 1 < end ? bytes[index + 1] : 0
  // U+0085 and U+00A0.
  if byte == 0xC2 { return second == 0x85 || second == 0xA0 ? 2 : 0 }
  let third = index + 2 < end ? bytes[index + 2] : 0
  let isBlank =
    switch (byte, second) {
    case (0xE1, 0x9A): third == 0x80
    // U+2000 to U+200B, U+2028, U+2029 and U+202F.
    case (0xE2, 0x80): (0x80...0x8B).contains(third) || third == 0xA8 || third == 0xA9 || third == 0xAF
    case (0xE2, 0x81): third == 0x9F
    case (0xE3, 0x80): third == 0x80
    case (0xEF, 0xBB): third == 0xBF
    default: false
    }
  return isBlank ? 3 : 0
}
