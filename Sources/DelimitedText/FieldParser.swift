/// Reads typed values from the bytes of a field; each function answers nil if the whole field isn't such a value.
///
/// Nothing is allocated, except for a few decimal numbers of more than 15 bytes.
/// Blanks around a value belong to the field: trim them first if they are to be allowed.
package enum FieldParser {
  /// A decimal integer with an optional sign; nil also if it doesn't fit.
  package static func int64(_ field: UnsafeRawBufferPointer) -> Int64? {
    var index = 0
    var isNegative = false
    if let first = field.first, first == Byte.minus || first == Byte.plus {
      isNegative = first == Byte.minus
      index = 1
    }
    guard index < field.count else { return nil }
    var value: Int64 = 0
    // Eighteen digits always fit.
    let safeEnd = min(field.count, index + 18)
    while index < safeEnd {
      guard let digit = digit(field[index]) else { return nil }
      value = value &* 10 &+ Int64(digit)
      index += 1
    }
    if isNegative { value = 0 &- value }
    while index < field.count {
      guard let digit = digit(field[index]) else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflow2) =
        isNegative
        ? product.subtractingReportingOverflow(Int64(digit)) : product.addingReportingOverflow(Int64(digit))
      if overflow || overflow2 { return nil }
      value = sum
      index += 1
    }
    return value
  }

  /// One of the words true, false, yes, no, t, f, y, n, 1 and 0, in any case.
  package static func bool(_ field: UnsafeRawBufferPointer) -> Bool? {
    guard field.count >= 1, field.count <= 5 else { return nil }
    var word: UInt64 = 0
    for byte in field { word = word << 8 | UInt64(byte | Byte.lowerCaseBit) }
    switch word {
    case 0x74, 0x79, 0x79_6573, 0x7472_7565: return true  // t, y, yes, true
    case 0x66, 0x6E, 0x6E6F, 0x66_616C_7365: return false  // f, n, no, false
    // The bit also turns control characters into digits, so these are looked at as they are.
    case 0x31: return field[0] == 0x31 ? true : nil
    case 0x30: return field[0] == 0x30 ? false : nil
    default: return nil
    }
  }

  /// A UUID of 32 hexadecimal digits in any case with hyphens in the usual four places; its bytes in written order.
  package static func uuid(_ field: UnsafeRawBufferPointer) -> SIMD16<UInt8>? {
    guard field.count == 36 else { return nil }
    var bytes = SIMD16<UInt8>()
    var index = 0
    for position in 0..<16 {
      if position == 4 || position == 6 || position == 8 || position == 10 {
        guard field[index] == Byte.minus else { return nil }
        index += 1
      }
      guard let high = hexadecimalDigit(field[index]), let low = hexadecimalDigit(field[index + 1]) else { return nil }
      bytes[position] = high << 4 | low
      index += 2
    }
    return bytes
  }

  @inline(__always)
  static func digit(_ byte: UInt8) -> UInt8? {
    let value = byte &- Byte.zero
    return value < 10 ? value : nil
  }

  private static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    if let value = digit(byte) { return value }
    let value = (byte | Byte.lowerCaseBit) &- 0x61
    return value < 6 ? value + 10 : nil
  }
}
