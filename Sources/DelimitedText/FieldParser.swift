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

extension FieldParser {
  /// Days from 1970-01-01 to the reference date, 2001-01-01.
  private static let referenceDay = 11_323

  /// An ISO 8601 date, or date and time, as seconds since 2001-01-01 00:00 UTC.
  ///
  /// `2024-02-29`, `2024-02-29T23:59`, `2024-02-29 23:59:59.25+05:30`; between date and time stands T or a blank, the
  /// fraction follows a point or a comma, the zone is Z, ±hh, ±hhmm or ±hh:mm. Without a zone it is UTC. Years 0001 to
  /// 9999; no leap seconds.
  package static func date(_ field: UnsafeRawBufferPointer) -> Double? {
    guard field.count >= 10, field[4] == Byte.minus, field[7] == Byte.minus,
      let century = twoDigits(field, at: 0), let yearOfCentury = twoDigits(field, at: 2),
      let month = twoDigits(field, at: 5), let day = twoDigits(field, at: 8)
    else { return nil }
    let year = century * 100 + yearOfCentury
    guard year >= 1, month >= 1, month <= 12, day >= 1, day <= dayCount(ofMonth: month, year: year) else { return nil }
    let days = daysFrom1970(year: year, month: month, day: day) - referenceDay
    var seconds = days * 86_400
    var fraction = 0.0
    if field.count > 10 {
      guard field[10] | Byte.lowerCaseBit == 0x74 || field[10] == 0x20,
        let time = timeOfDay(UnsafeRawBufferPointer(rebasing: field[11...]))
      else { return nil }
      seconds += time.seconds
      fraction = time.fraction
    }
    return Double(seconds) + fraction
  }

  private static func timeOfDay(_ field: UnsafeRawBufferPointer) -> (seconds: Int, fraction: Double)? {
    guard field.count >= 5, field[2] == Byte.colon,
      let hour = twoDigits(field, at: 0), hour < 24, let minute = twoDigits(field, at: 3), minute < 60
    else { return nil }
    var seconds = hour * 3600 + minute * 60
    var fraction = 0.0
    var index = 5
    if index < field.count, field[index] == Byte.colon {
      guard let second = twoDigits(field, at: index + 1), second < 60 else { return nil }
      seconds += second
      index += 3
      if index < field.count, field[index] == Byte.period || field[index] == Byte.comma {
        index += 1
        guard let end = readFraction(field, from: index, into: &fraction) else { return nil }
        index = end
      }
    }
    guard let offset = zoneOffset(field, at: index) else { return nil }
    return (seconds - offset, fraction)
  }

  /// The index after the digits, of which the first fifteen count; nil if there is none.
  private static func readFraction(
    _ field: UnsafeRawBufferPointer, from start: Int, into fraction: inout Double
  ) -> Int? {
    var index = start
    var digits = 0.0
    var scale = 1.0
    while index < field.count, let digit = digit(field[index]) {
      if index - start < 15 {
        digits = digits * 10 + Double(digit)
        scale *= 10
      }
      index += 1
    }
    fraction = digits / scale
    return index > start ? index : nil
  }

  /// Seconds east of Greenwich; nothing at all means UTC.
  private static func zoneOffset(_ field: UnsafeRawBufferPointer, at start: Int) -> Int? {
    let count = field.count - start
    guard count > 0 else { return 0 }
    if count == 1 { return field[start] | Byte.lowerCaseBit == 0x7A ? 0 : nil }
    guard field[start] == Byte.plus || field[start] == Byte.minus,
      let hours = twoDigits(field, at: start + 1), hours < 24
    else { return nil }
    var minutes = 0
    if count > 3 {
      let hasColon = field[start + 3] == Byte.colon
      guard count == (hasColon ? 6 : 5), let written = twoDigits(field, at: start + (hasColon ? 4 : 3)), written < 60
      else { return nil }
      minutes = written
    }
    let offset = hours * 3600 + minutes * 60
    return field[start] == Byte.minus ? -offset : offset
  }

  private static func twoDigits(_ field: UnsafeRawBufferPointer, at index: Int) -> Int? {
    guard index + 1 < field.count, let tens = digit(field[index]), let ones = digit(field[index + 1])
    else { return nil }
    return Int(tens) * 10 + Int(ones)
  }

  private static func dayCount(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: return 30
    default: return 31
    }
  }

  /// Days in the Gregorian calendar, for years from 1 (H. Hinnant, "chrono-compatible low-level date algorithms",
  /// days_from_civil).
  private static func daysFrom1970(year: Int, month: Int, day: Int) -> Int {
    // Years begin in March, so that the leap day is a year's last.
    let marchYear = month <= 2 ? year - 1 : year
    let era = marchYear / 400
    let yearOfEra = marchYear % 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
