extension FieldParser {
  // Every power of ten that a Double holds exactly.
  private static let powersOfTen: InlineArray<23, Double> = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]

  /// A decimal number with an optional sign, fraction and exponent, rounded to the nearest Double.
  ///
  /// Nil for infinities, NaN, hexadecimal numbers, and numbers beyond the largest Double. Up to 2^53 as digits and 22
  /// as exponent of ten, both factors are exact and so the one operation rounds exactly (W. Clinger, "How to read
  /// floating point numbers accurately"); longer numbers take the standard library's way.
  package static func double(_ field: UnsafeRawBufferPointer) -> Double? {
    let count = field.count
    var index = 0
    var isNegative = false
    if let first = field.first, first == Byte.minus || first == Byte.plus {
      isNegative = first == Byte.minus
      index = 1
    }
    var digits: UInt64 = 0
    var digitCount = 0
    var significantCount = 0
    var exponent = 0
    var sawPoint = false
    while index < count {
      let byte = field[index]
      if let digit = digit(byte) {
        digitCount += 1
        if significantCount > 0 || digit != 0 { significantCount += 1 }
        digits = digits &* 10 &+ UInt64(digit)
        if sawPoint { exponent -= 1 }
      } else if byte == Byte.period, !sawPoint {
        sawPoint = true
      } else {
        break
      }
      index += 1
    }
    guard digitCount > 0 else { return nil }
    if index < count {
      guard let written = writtenExponent(field, at: index) else { return nil }
      exponent += written
    }
    // Nineteen digits fit into 64 bits.
    guard significantCount <= 19, digits <= 1 << 53, exponent >= -22, exponent <= 22 else { return slowDouble(field) }
    let magnitude =
      exponent < 0 ? Double(digits) / powersOfTen[-exponent] : Double(digits) * powersOfTen[exponent]
    return isNegative ? -magnitude : magnitude
  }

  /// The exponent after an `e`, up to the field's end; limited to what makes any number infinite or zero.
  static func writtenExponent(_ field: UnsafeRawBufferPointer, at start: Int) -> Int? {
    guard field[start] | Byte.lowerCaseBit == 0x65 else { return nil }
    var index = start + 1
    var isNegative = false
    if index < field.count, field[index] == Byte.minus || field[index] == Byte.plus {
      isNegative = field[index] == Byte.minus
      index += 1
    }
    guard index < field.count else { return nil }
    var value = 0
    while index < field.count {
      guard let digit = digit(field[index]) else { return nil }
      value = min(value * 10 + Int(digit), 1 << 40)
      index += 1
    }
    return isNegative ? -value : value
  }

  /// The standard library's way, which follows no locale as the C library's would; text of over 15 bytes is allocated.
  private static func slowDouble(_ field: UnsafeRawBufferPointer) -> Double? {
    guard let value = Double(String(decoding: field, as: UTF8.self)), value.isFinite else { return nil }
    return value
  }
}
