/// The difference between a zone's time and UTC, and how the zone calls its time meanwhile.
struct ZoneOffset: Sendable, Equatable {
  let seconds: Int
  let isDaylightSaving: Bool
  let name: String
}

/// A zone's rule for all years, as the environment variable TZ and the ends of zone files have it: POSIX.1-2024, 8.3.
struct ZoneRule: Sendable, Equatable {
  /// The day of a year on which the offset changes, and the time of that day.
  struct Change: Sendable, Equatable {
    enum Day: Sendable, Equatable {
      /// Counted from 1, without 29 February.
      case withoutLeapDay(Int)
      /// Counted from 0.
      case ofYear(Int)
      /// A weekday from 0 for Sunday, in a week of a month; week 5 is the last one.
      case weekday(Int, week: Int, month: Int)
    }

    let day: Day
    /// Seconds after midnight; may be of the day before or of days after.
    let time: Int

    /// Seconds since 1970, for a clock in UTC.
    func seconds(in year: Int) -> Int64 {
      var date = CivilTime(year: year, month: 1, day: 1)
      switch day {
      case .ofYear(let number): date.day += number
      case .withoutLeapDay(let number):
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        date.day += number - 1 + (isLeapYear && number >= 60 ? 1 : 0)
      case .weekday(let weekday, let week, let month):
        date.month = month
        // CivilTime's weeks begin on Monday.
        date.day += (weekday + 6 - date.weekday + 7) % 7 + (week - 1) * 7
        let next = CivilTime(year: year, month: month + 1, day: 1)
        if date.secondsAsUTC >= next.secondsAsUTC { date.day -= 7 }
      }
      return date.secondsAsUTC + Int64(time)
    }
  }

  /// Daylight saving time, and when it begins and ends on the clocks of that time.
  struct Daylight: Sendable, Equatable {
    let offset: ZoneOffset
    let begin: Change
    let end: Change
  }

  let standard: ZoneOffset
  /// Nil if the zone has no daylight saving time.
  let daylight: Daylight?

  /// The offset at a moment, in seconds since 1970.
  func offset(at moment: Int64) -> ZoneOffset {
    guard let daylight else { return standard }
    let year = CivilTime(secondsAsUTC: moment).year
    let begin = daylight.begin.seconds(in: year) - Int64(standard.seconds)
    let end = daylight.end.seconds(in: year) - Int64(daylight.offset.seconds)
    // South of the equator a year begins and ends in summer.
    let isDaylight = begin > end ? moment < end || moment >= begin : moment >= begin && moment < end
    return isDaylight ? daylight.offset : standard
  }
}

extension ZoneRule {
  /// Reads a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; nil if it isn't one.
  init?(_ text: some Sequence<UInt8>) {
    var reader = Reader(bytes: Array(text))
    guard let name = reader.name(), let west = reader.time() else { return nil }
    standard = ZoneOffset(seconds: -west, isDaylightSaving: false, name: name)
    if reader.isAtEnd {
      daylight = nil
      return
    }
    guard let name = reader.name() else { return nil }
    var seconds = standard.seconds + 3600
    if !reader.isAtEnd && !reader.isNext(",") {
      guard let west = reader.time() else { return nil }
      seconds = -west
    }
    // Without bounds those of the United States are meant.
    var (begin, end) = (Self.usual(month: 3, week: 2), Self.usual(month: 11, week: 1))
    if !reader.isAtEnd {
      guard let first = reader.change(), let second = reader.change(), reader.isAtEnd else { return nil }
      (begin, end) = (first, second)
    }
    daylight = Daylight(
      offset: ZoneOffset(seconds: seconds, isDaylightSaving: true, name: name), begin: begin, end: end)
  }

  private static func usual(month: Int, week: Int) -> Change {
    Change(day: .weekday(0, week: week, month: month), time: 7200)
  }

  /// Takes the parts of a rule from its text, one after the other; each is nil if something else stands there.
  private struct Reader {
    let bytes: [UInt8]
    var index = 0

    var isAtEnd: Bool { index == bytes.count }

    func isNext(_ character: Unicode.Scalar) -> Bool { !isAtEnd && bytes[index] == UInt8(ascii: character) }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
      let isThere = isNext(character)
      if isThere { index += 1 }
      return isThere
    }

    /// At least three letters, or anything in angle brackets.
    mutating func name() -> String? {
      let isQuoted = skip("<")
      let rest = bytes[index...]
      let found = isQuoted ? rest.prefix { $0 != UInt8(ascii: ">") } : rest.prefix(while: Self.isLetter)
      index += found.count
      guard found.count >= 3, !isQuoted || skip(">") else { return nil }
      return String(decoding: found, as: UTF8.self)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private mutating func number(in range: ClosedRange<Int>) -> Int? {
      let digits = bytes[index...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      index += digits.count
      return Int(String(decoding: digits, as: UTF8.self)).flatMap { range.contains($0) ? $0 : nil }
    }

    /// A sign, hours of up to a week, and perhaps minutes and seconds; in seconds.
    mutating func time() -> Int? {
      let isNegative = skip("-")
      if !isNegative { _ = skip("+") }
      guard var seconds = number(in: 0...167).map({ $0 * 3600 }) else { return nil }
      for unit in [60, 1] where skip(":") {
        guard let more = number(in: 0...59) else { return nil }
        seconds += more * unit
      }
      return isNegative ? -seconds : seconds
    }

    mutating func change() -> Change? {
      guard skip(","), let day = day() else { return nil }
      guard skip("/") else { return Change(day: day, time: 7200) }
      return time().map { Change(day: day, time: $0) }
    }

    private mutating func day() -> Change.Day? {
      if skip("J") { return number(in: 1...365).map { .withoutLeapDay($0) } }
      guard skip("M") else { return number(in: 0...365).map { .ofYear($0) } }
      guard let month = number(in: 1...12), skip("."), let week = number(in: 1...5), skip("."),
        let weekday = number(in: 0...6)
      else { return nil }
      return .weekday(weekday, week: week, month: month)
    }
  }
}
