/// A date and time of day as a clock on a wall shows it, without the zone that it belongs to.
///
/// Fields may lie outside their ranges while a search counts them up; ``secondsAsUTC`` carries them over.
struct CivilTime: Equatable {
  var year: Int
  /// From 1.
  var month: Int
  /// From 1.
  var day: Int
  var hour = 0
  var minute = 0
  var second = 0

  /// The weekday of a date, from 0 for Monday.
  var weekday: Int { Self.modulo(days + 3, 7) }

  /// Seconds since 1970 if the zone is UTC; fields outside their ranges count on from the next one.
  var secondsAsUTC: Int64 { Int64(days) * 86_400 + Int64(hour) * 3600 + Int64(minute) * 60 + Int64(second) }

  /// Days since 1970, in the proleptic Gregorian calendar.
  ///
  /// Years are counted from March, so that the leap day is the last one; see Howard Hinnant, "chrono-compatible
  /// low-level date algorithms".
  private var days: Int {
    let months = year * 12 + month - 1 - 2
    let (shifted, monthFromMarch) = (Self.floor(months, 12), Self.modulo(months, 12))
    let leapDays = Self.floor(shifted, 4) - Self.floor(shifted, 100) + Self.floor(shifted, 400)
    return shifted * 365 + leapDays + (153 * monthFromMarch + 2) / 5 + day - 1 - 719_468
  }

  private static func floor(_ value: Int, _ divisor: Int) -> Int { (value - modulo(value, divisor)) / divisor }

  private static func modulo(_ value: Int, _ divisor: Int) -> Int {
    let rest = value % divisor
    return rest < 0 ? rest + divisor : rest
  }
}

extension CivilTime {
  /// The date and time of a moment in UTC.
  ///
  /// - Parameter seconds: Since 1970.
  init(secondsAsUTC seconds: Int64) {
    let rest = Self.modulo(Int(seconds), 86_400)
    let shifted = (Int(seconds) - rest) / 86_400 + 719_468
    let era = Self.floor(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
  }

  /// Returns true if its date and time come before another's, field by field.
  static func < (earlier: Self, later: Self) -> Bool {
    (earlier.year, earlier.month, earlier.day, earlier.hour, earlier.minute, earlier.second)
      < (later.year, later.month, later.day, later.hour, later.minute, later.second)
  }
}
