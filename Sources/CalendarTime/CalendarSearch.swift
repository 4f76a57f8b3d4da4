extension CalendarExpression {
  /// The first moment after another, in microseconds since 1970; nil if there is none before the year 2200.
  ///
  /// Takes some microseconds, and never more than some milliseconds, even where nothing matches.
  package func next(after moment: Int64) -> Int64? {
    // No zone is so far from UTC that more years than the calendar has could come of it.
    guard moment < Int64(3000 - 1970) * 366 * 86_400 * Int64(Self.second) else { return nil }
    var start = max(moment + 1, 0)
    for _ in 0..<CalendarSearch.beginnings {
      var search = CalendarSearch(self, from: start)
      switch search.next() {
      case .found(let next) where next > moment: return next
      case .never: return nil
      case .found, .stuck: start += 3600 * Int64(Self.second)
      }
    }
    return nil
  }
}

/// The search for the next moment of an expression: fields from the year down are counted up to the next match, and
/// when one has none left, the field above is counted up by one.
///
/// It takes the way of systemd's search, with its steps and with the C library's view on hours that are missing or occur
/// twice, so that the outcome is the same.
private struct CalendarSearch {
  /// As many rounds as systemd's search has. Where it gives up, ours begins again an hour later: there are zones where
  /// an hour that is missing leads back to the one before it, time and again.
  private static let rounds = 1000
  static let beginnings = 25

  enum Result {
    case found(Int64)
    case never
    case stuck
  }

  private enum Match {
    case unchanged, later, none
  }

  private enum Existence {
    /// The civil time is one that the zone has.
    case real
    /// It is missing; the search goes on from a later one.
    case moved
    /// It is not to be reached by going forward.
    case unreachable
  }

  private let expression: CalendarExpression
  private var clock: ZoneClock
  private var time: CivilTime
  private var microseconds: Int
  private var daylight: Bool?

  init(_ expression: CalendarExpression, from moment: Int64) {
    self.expression = expression
    let second = Int64(CalendarExpression.second)
    clock = ZoneClock(expression.zone.info, at: moment / second)
    time = clock.civil(at: moment / second)
    microseconds = Int(moment % second)
    daylight = expression.zone.info.offset(at: moment / second).isDaylightSaving
  }

  mutating func next() -> Result {
    let start = (time: time, microseconds: microseconds)
    var keepsDaylight = false
    for _ in 0..<Self.rounds {
      let (normal, moment) = civil(of: time)
      time = normal
      daylight =
        keepsDaylight ? expression.zone.info.offset(at: moment).isDaylightSaving : expression.zone.daylight
      switch round() {
      case .never: return .never
      case .again: continue
      case .found:
        if time < start.time || time == start.time && microseconds < start.microseconds {
          // A missing hour was taken for an earlier one. The kind of time that is in force leads over the gap.
          keepsDaylight = true
          time.hour += 1
          continue
        }
        let moment = clock.moment(of: time, daylight: daylight)
        return .found(moment * Int64(CalendarExpression.second) + Int64(microseconds))
      }
    }
    return .stuck
  }

  private enum Outcome {
    case found, again, never
  }

  /// Counts fields up until one has no match.
  private mutating func round() -> Outcome {
    if match(expression.years, \.year) == .none || exists() != .real { return .never }
    if let outcome = step(\.month, expression.months, above: \.year) { return outcome }
    if let outcome = step(\.day, expression.days, above: \.month) { return outcome }
    if let weekdays = expression.weekdays, weekdays & 1 << civil(of: time).time.weekday == 0 {
      carry(to: \.day)
      return .again
    }
    if let outcome = step(\.hour, expression.hours, above: \.day) { return outcome }
    if let outcome = step(\.minute, expression.minutes, above: \.hour) { return outcome }
    return stepSeconds() ?? .found
  }

  /// Counts a field up to its next match; nil if there is one that exists.
  private mutating func step(
    _ field: WritableKeyPath<CivilTime, Int>, _ values: CalendarField, above: WritableKeyPath<CivilTime, Int>
  ) -> Outcome? {
    outcome(match(values, field), above: above)
  }

  private mutating func stepSeconds() -> Outcome? {
    let second = CalendarExpression.second
    let value = time.second * second + microseconds
    let found = expression.seconds.first(from: value)
    if let found { (time.second, microseconds) = (found / second, found % second) }
    return outcome(found == nil ? .none : .later, above: \.minute)
  }

  private mutating func outcome(_ match: Match, above: WritableKeyPath<CivilTime, Int>) -> Outcome? {
    if match != .none {
      switch exists() {
      case .real: return nil
      case .moved: return .again
      case .unreachable: break
      }
    }
    carry(to: above)
    return .again
  }

  /// Sets a field to its next match, and all below it to their beginnings if it isn't the present one.
  private mutating func match(_ values: CalendarField, _ field: WritableKeyPath<CivilTime, Int>) -> Match {
    let value = time[keyPath: field]
    let isFromEnd = expression.countsFromEnd && field == \.day
    guard let found = isFromEnd ? firstDayFromEnd() : values.first(from: value) else { return .none }
    if found == value { return .unchanged }
    time[keyPath: field] = found
    resetBelow(field)
    return .later
  }

  private mutating func firstDayFromEnd() -> Int? {
    var clock = clock
    defer { self.clock = clock }
    let (time, daylight) = (time, daylight)
    return expression.days.first(from: time.day) { day in
      var date = time
      date.month += 1
      date.day = 1 - (day ?? -1)
      let moment = clock.moment(of: date, daylight: daylight)
      let found = clock.civil(at: moment)
      return moment >= 0 && found.month == time.month ? found.day : nil
    }
  }

  private mutating func carry(to field: WritableKeyPath<CivilTime, Int>) {
    time[keyPath: field] += 1
    resetBelow(field)
  }

  private mutating func resetBelow(_ field: WritableKeyPath<CivilTime, Int>) {
    microseconds = 0
    for below in [\CivilTime.second, \.minute, \.hour, \.day, \.month] {
      if below == field { return }
      time[keyPath: below] = below == \.day || below == \.month ? 1 : 0
    }
  }

  /// The civil time that the zone shows instead of one that may be missing, or out of the ranges of its fields.
  private mutating func civil(of time: CivilTime) -> (time: CivilTime, moment: Int64) {
    let moment = clock.moment(of: time, daylight: daylight)
    return (clock.civil(at: moment), moment)
  }

  private mutating func exists() -> Existence {
    if time.year > CalendarBounds.years.values.upperBound { return .unreachable }
    var (found, moment) = civil(of: time)
    if moment < 0 || found < time { return .unreachable }
    if found == time { return .real }
    // What follows the first field that has changed begins anew, so that nothing of it is left out.
    if found.year != time.year {
      found.month = 1
    } else if found.month != time.month {
      found.day = 1
    } else if found.day != time.day {
      found.hour = 0
    } else if found.hour != time.hour {
      found.minute = 0
    } else if found.minute != time.minute {
      found.second = 0
    }
    time = found
    return .moved
  }
}
