extension FieldParser {
  /// The part of a decimal number that is its usual spelling: `0.50` without the last digit, `7.0` without two.
  ///
  /// Answers nil if the field is no such number, or if it takes more to spell it: a plus sign, zeros that lead, an
  /// exponent, more than 32 bytes.
  package static func spelledDecimal(_ field: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard field.count <= 32 else { return nil }
    let start = field.first == Byte.minus ? 1 : 0
    var index = start
    while index < field.count, digit(field[index]) != nil { index += 1 }
    guard index > start, index == start + 1 || digit(field[start]) != 0 else { return nil }
    var end = index
    if index < field.count {
      guard field[index] == Byte.period, index + 1 < field.count else { return nil }
      for place in index + 1..<field.count {
        guard let digit = digit(field[place]) else { return nil }
        if digit != 0 { end = place + 1 }
      }
    }
    // Minus zero is spelled without the sign.
    if start == 1, end == 2, digit(field[1]) == 0 { return nil }
    return UnsafeRawBufferPointer(rebasing: field[..<end])
  }
}
