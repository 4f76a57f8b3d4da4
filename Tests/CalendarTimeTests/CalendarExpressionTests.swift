import TestSupport
import Testing

@testable import CalendarTime

@Suite("Calendar expressions")
struct CalendarExpressionTests {
  /// 2026-11-23 12:34:56 UTC, a Monday.
  private static let now: Int64 = 1_795_437_296

  private func next(_ text: String, after seconds: Int64 = now, zone: ZoneInfo = .utc) throws -> CivilTime? {
    let expression = try CalendarExpression(text, localZone: zone)
    return expression.next(after: seconds * 1_000_000).map { CivilTime(secondsAsUTC: $0 / 1_000_000) }
  }

  @Test(
    "The normal form says everything an expression means",
    arguments: [
      ("daily", "*-*-* 00:00:00"), ("Weekly", "Mon *-*-* 00:00:00"), ("minutely", "*-*-* *:*:00"),
      ("quarterly", "*-01,04,07,10-01 00:00:00"), ("Mon..Fri 22:30", "Mon..Fri *-*-* 22:30:00"),
      ("Sat,Sun,Mon 8:5", "Mon,Sat,Sun *-*-* 08:05:00"), ("Mon..Sun 1:0", "*-*-* 01:00:00"),
      ("*-*~1 3:00 UTC", "*-*~01 03:00:00 UTC"), ("5-1..7/3", "*-05-01..07/3 00:00:00"),
      ("26-1-1", "2026-01-01 00:00:00"), ("*:*:1.5/0.25", "*-*-* *:*:01.500000/0.250000"), ("*:*:*", "*-*-* *:*:*"),
      ("@86400", "1970-01-02 00:00:00 UTC"), ("3,1,1:0", "*-*-* 01,03:00:00"),
    ])
  func normalForm(text: String, expected: String) throws {
    let expression = try CalendarExpression(text, localZone: .utc)
    #expect(expression.description == expected)
    #expect(try CalendarExpression(expression.description, localZone: .utc) == expression)
  }

  @Test("The next moment is found from years down to fractions of a second")
  func nextMoment() throws {
    #expect(try next("daily") == CivilTime(year: 2026, month: 11, day: 24))
    #expect(try next("*:0/15") == CivilTime(year: 2026, month: 11, day: 23, hour: 12, minute: 45))
    #expect(try next("*-*~1 3:0") == CivilTime(year: 2026, month: 11, day: 30, hour: 3))
    #expect(try next("*-02-29") == CivilTime(year: 2028, month: 2, day: 29))
    #expect(try next("Mon *-02-29") == CivilTime(year: 2044, month: 2, day: 29))
    let quarters = try CalendarExpression("*:*:0/0.25", localZone: .utc)
    #expect(quarters.next(after: Self.now * 1_000_000) == Self.now * 1_000_000 + 250_000)
  }

  @Test("A moment that is an elapse is followed by the next one, never by itself")
  func strictlyAfter() throws {
    let expression = try CalendarExpression("hourly", localZone: .utc)
    let first = try #require(expression.next(after: Self.now * 1_000_000))
    #expect(expression.next(after: first) == first + 3_600_000_000)
    #expect(expression.next(after: first - 1) == first)
  }

  @Test(
    "What never comes is found out in bounded time",
    arguments: ["*-02-30", "2025-01-01", "@5", "Sun 2026-11-23", "1999-02~28 2:0:0.000001"])
  func never(text: String) throws {
    let expression = try CalendarExpression(text, localZone: .utc)
    #expect(expression.next(after: Self.now * 1_000_000) == nil)
    #expect(expression.next(after: .max) == nil)
  }

  @Test(
    "An hour that is missing has no moments, one that occurs twice has them in the first",
    .enabled(if: SystemdCalendar.hasZones()))
  func daylightSaving() throws {
    let berlin = try #require(ZoneInfo(named: "Europe/Berlin"))
    // 29 March 2027 is the day after the change at 2:00; the clock shows UTC, one or two hours less.
    let spring = CivilTime(year: 2027, month: 3, day: 28).secondsAsUTC
    #expect(try next("2:30", after: spring, zone: berlin) == CivilTime(year: 2027, month: 3, day: 29, minute: 30))
    let autumn = CivilTime(year: 2026, month: 10, day: 24, hour: 23, minute: 59).secondsAsUTC
    #expect(try next("2:30", after: autumn, zone: berlin) == CivilTime(year: 2026, month: 10, day: 25, minute: 30))
    #expect(
      try next("2:30", after: autumn + 1860, zone: berlin)
        == CivilTime(year: 2026, month: 10, day: 26, hour: 1, minute: 30))
    #expect(try next("9:00 Europe/Berlin") == CivilTime(year: 2026, month: 11, day: 24, hour: 8))
  }

  @Test(
    "A year in any zone goes forward and ends", .enabled(if: SystemdCalendar.hasZones()),
    arguments: RandomExpression.zones)
  func forward(zone: String) throws {
    let expression = try CalendarExpression("*:0/30 \(zone)", localZone: .utc)
    var (moment, count) = (Self.now * 1_000_000, 0)
    while let next = expression.next(after: moment), next < (Self.now + 366 * 86_400) * 1_000_000 {
      try #require(next > moment)
      (moment, count) = (next, count + 1)
    }
    // A few are missing around the changes.
    #expect((366 * 48 - 8...366 * 48 + 1).contains(count))
  }

  @Test(
    "An error says where it is and what was expected",
    arguments: [
      ("", 1, "expected a date, a time, or a word such as daily"),
      ("dayly", 1, "expected a number, but there is \"dayly\""),
      ("Fri..Mon 10:00", 9, "a range of weekdays goes from Monday towards Sunday"),
      ("Mon 25:00", 5, "hours go from 0 to 23, and a range or a repetition must fit in between"),
      ("*-13-1", 3, "months go from 1 to 12, and a range or a repetition must fit in between"),
      ("*:*/5", 4, "expected a colon and seconds, or the end, but there is \"/5\""),
      ("10:00 Europe/Berlni", 6, "expected a colon and seconds, or the end, but there is \" Europe/Berlni\""),
      ("*-*~0", 5, "days before the end of the month go from 1 to 28, and a range or a repetition must fit in between"),
      ("2200-1-1", 1, "years go from 1970 to 2199, and a range or a repetition must fit in between"),
      ("10", 3, "expected a colon and minutes, but there is the end"),
      ("*:0/0", 3, "a repetition needs a distance above 0"),
    ])
  func errors(text: String, column: Int, message: String) {
    let error = #expect(throws: CalendarError.self) { try CalendarExpression(text, localZone: .utc) }
    #expect(error?.description == "at character \(column): \(message)")
  }

  @Test("Random bytes are read or refused, and what is read has an answer")
  func randomBytes() {
    var generator = SeededGenerator(seed: 1)
    let characters = Array("0123456789*/,.-~:@ MonTueUTC+\u{0}ä\n".utf8) + [0xFF, 0x80]
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...16, using: &generator)).map { _ in
        characters.randomElement(using: &generator) ?? 0
      }
      guard let expression = try? CalendarExpression(String(decoding: bytes, as: UTF8.self), localZone: .utc) else {
        continue
      }
      if let next = expression.next(after: Self.now * 1_000_000) { #expect(next > Self.now * 1_000_000) }
    }
  }
}
