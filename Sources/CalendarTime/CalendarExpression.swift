/// Repeating moments, as `OnCalendar=` of systemd names them: `Mon..Fri 22:30`, `*-*~1 03:00 Europe/Berlin`.
///
/// Grammar, normal form, and what daylight saving does are systemd's, whose manual systemd.time(7) describes them under
/// "Calendar Events": an hour that a change skips has no moments, and one that occurs twice has them in the first.
package struct CalendarExpression: Sendable, Equatable, CustomStringConvertible {
  /// Microseconds.
  static let second = 1_000_000

  /// Bits from 1 for Monday; nil for any weekday.
  var weekdays: UInt8?
  var years = CalendarField.any
  var months = CalendarField.any
  var days = CalendarField.any
  /// True if days are counted from the end of the month.
  var countsFromEnd = false
  var hours = CalendarField.any
  var minutes = CalendarField.any
  /// In microseconds.
  var seconds = CalendarField.any
  var zone: Zone

  /// The zone in which an expression is to be read.
  struct Zone: Sendable, Equatable {
    /// As the expression names it; nil if it doesn't.
    var name: String?
    var info: ZoneInfo
    /// True or false if the expression names the local zone's daylight saving or standard time.
    var daylight: Bool?
  }

  /// The expression in its normal form.
  package var description: String {
    let weekdays = weekdays.map { Self.text(ofWeekdays: $0) + " " } ?? ""
    let date = "\(years.text(width: 4))-\(months.text())\(countsFromEnd ? "~" : "-")\(days.text())"
    let time = "\(hours.text()):\(minutes.text()):\(seconds.text(unit: Self.second))"
    return weekdays + date + " " + time + (zone.name.map { " " + $0 } ?? "")
  }

  static let weekdayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

  /// Weekdays as a list of days and of ranges of three or more.
  private static func text(ofWeekdays weekdays: UInt8) -> String {
    var groups: [[Int]] = []
    for day in 0..<7 where weekdays & 1 << day != 0 {
      if groups.last?.last == day - 1 { groups[groups.count - 1].append(day) } else { groups.append([day]) }
    }
    let texts = groups.map { group in
      let names = group.map { weekdayNames[$0].prefix(3) }
      return names.count > 2 ? "\(names[0])..\(names[names.count - 1])" : names.joined(separator: ",")
    }
    return texts.joined(separator: ",")
  }
}
