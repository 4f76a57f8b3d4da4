import Foundation
import TestSupport
import Testing

@testable import CalendarTime

@Suite("Calendar expressions and systemd-analyze", .enabled(if: SystemdCalendar.isInstalled()))
struct CalendarDifferentialTests {
  /// Days around which clocks change, some of them far from now.
  static let days: [Int64] = [
    // 2026: 29 March and 25 October (Europe), 8 March and 1 November (America), 5 April (Australia), and years after.
    1_774_742_400, 1_792_886_400, 1_772_928_000, 1_793_491_200, 1_775_347_200, 1_806_192_000, 1_950_220_800,
    2_216_246_400, 1_325_203_200, 0, 951_782_400, 4_107_456_000, 7_250_000_000,
  ]

  @Test("They agree on what elapses when, on the normal form, and on what is no expression")
  func agreement() async throws {
    // BOBBIN_CALENDAR_RUNS sets how many runs of the tool there are, of 40 expressions each.
    let runs = ProcessInfo.processInfo.environment["BOBBIN_CALENDAR_RUNS"].flatMap { Int($0) } ?? 1
    for run in 0..<runs {
      var generator = SeededGenerator(seed: UInt64(run))
      let zone = RandomExpression.zones[run % RandomExpression.zones.count]
      let day = Self.days.randomElement(using: &generator) ?? 0
      let base = max(day + Int64.random(in: -100_000...100_000, using: &generator), 1)
      var expressions = RandomExpression(random: generator)
      try await compare((0..<40).map { _ in expressions.next() }, after: base, zone: zone)
    }
  }

  @Test("They agree on ranges, repetitions and ends of months at their bounds")
  func bounds() async throws {
    let expressions = [
      "0..0:0", "5..5/9:0", "1..2/3:0", "5..2:0", "*:0/59", "*:0/60", "*:59/1", "*:*:0/59.999999", "*:*:0/60",
      "*:*:0..0.5",
      "*:*:0..0.5/0.1", "*:*:1..1", "*:*:0.25..1.25", "*:*:59.9999999", "*:*:0.1234567", "*:*:0.", "*:*/5", "*-*~0",
      "*-*~1",
      "*-*~28", "*-*~29", "*-*~1,28", "*-*~1,2,3,22", "*-*~7/3", "*-*~1/2", "*-*~3..1", "*-*~1..3", "*~3", "*-02~*",
      "*-02-30", "*-02-29", "Mon *-02-29", "*-*-31/1", "1..5,3/2-1-1", "69-1-1", "70-1-1", "1969-1-1", "2199-12-31",
      "2200-1-1",
      "@0", "@ 5", "@+5", "@-0", "@-5", "@", "@0x10", "@7258118399", "@7258118400", "@99999999999999999999999",
      "Mon @5",
      "@5 10:00", "Mon,", "Mon, 10:00", "Mon,,Tue", "Mon..Fri..Sat", "Sat..Mon", "Mon..", "Mon.. 10:00", "Mond",
      "Mon10:00",
      "Mon  ", " daily", "daily ", "daily utc", "UTC", " UTC", "", "daily Z", "daily  Europe/Berlin",
      "daily europe/berlin",
      "daily /UTC", "daily ./UTC", "daily Etc/GMT+3", "daily Etc/", "10", "*", "*-1", "2026-1", "2026-11-01T12:00",
      "2026~1~1", "2026-1~1~1", "2026~1", "*:", ":0", "10:00:00:00", "10:00 ", "*-*-*  10:00", "*-*-*-*",
      "99999999999:0",
      "0,0,0:0", "3,1..2,1:0", "*:*:2147.5", "*:*:0/2147", "*:*:0..0/2147", "*:*:0..0/2148", "ä", "10:0é",
      String(repeating: "1,", count: 240) + "1:0", String(repeating: "1,", count: 241) + "1:0",
    ]
    try await compare(expressions, after: 1_792_886_400, zone: "Europe/Berlin")
  }

  @Test("They agree on hours that are missing or occur twice", arguments: RandomExpression.zones)
  func daylightSaving(zone: String) async throws {
    let expressions = [
      "minutely", "*:0/15", "*:0/45", "02:30", "2:0", "1:30", "3:0", "0/2:0", "*:*:0/20.5", "*:59:59", "Sun 2..3:30",
      "0:0",
      "23:30", "*-*~1 2:30", "00:30",
    ]
    let info = try #require(ZoneInfo(named: zone))
    // The changes of a year, found by looking at each hour of it.
    let hours = stride(from: Int64(1_767_225_600), to: 1_798_761_600, by: 3600)
    let changes = hours.filter { info.offset(at: $0).seconds != info.offset(at: $0 + 3600).seconds }
    for change in changes {
      for base in [change - 5400, change + 1800] {
        try await compare(expressions, after: base, zone: zone)
      }
    }
  }

  private func compare(_ expressions: [String], after base: Int64, zone: String) async throws {
    let iterations = 6
    let theirs = try await SystemdCalendar.replies(to: expressions, after: base, iterations: iterations, zone: zone)
    for (expression, reply) in zip(expressions, theirs) {
      let ours = SystemdCalendar.ours(to: expression, after: base, iterations: iterations, zone: zone)
      let place = "\(expression.debugDescription) after @\(base) in \(zone)"
      if reply != .gaveUp { #expect(ours == reply, "\(place)") }
      guard case .answer(let answer) = ours else { continue }
      #expect(
        answer.moments.elementsEqual(answer.moments.sorted()) && answer.moments.allSatisfy { $0 >= base }, "\(place)")
    }
  }
}
