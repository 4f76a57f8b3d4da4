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
