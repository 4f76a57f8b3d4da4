import Foundation
import TestSupport
import Testing

@testable import CalendarTime

@Suite("Time zones")
struct ZoneInfoTests {
  private func offset(_ zone: ZoneInfo, _ year: Int, _ month: Int, _ day: Int) -> ZoneOffset {
    zone.offset(at: CivilTime(year: year, month: month, day: day).secondsAsUTC)
  }

  @Test("A rule of POSIX is as good as a file, in the north and in the south")
  func rules() {
    let berlin = ZoneInfo.local(environment: ["TZ": "CET-1CEST,M3.5.0,M10.5.0/3"])
    #expect(offset(berlin, 2026, 7, 1) == ZoneOffset(seconds: 7200, isDaylightSaving: true, name: "CEST"))
    #expect(offset(berlin, 2126, 1, 1) == ZoneOffset(seconds: 3600, isDaylightSaving: false, name: "CET"))
    let change = CivilTime(year: 2026, month: 3, day: 29, hour: 1).secondsAsUTC
    #expect(berlin.offset(at: change - 1).seconds == 3600 && berlin.offset(at: change).seconds == 7200)
    let sydney = ZoneInfo.local(environment: ["TZ": "AEST-10AEDT,M10.1.0,M4.1.0/3"])
    #expect(offset(sydney, 2026, 1, 1).name == "AEDT" && offset(sydney, 2026, 7, 1).name == "AEST")
    let days = ZoneInfo.local(environment: ["TZ": "<-02>2<-01>,J60/-1:30,365/167"])
    #expect(offset(days, 2028, 2, 29).name == "<-02>".dropFirst().dropLast() && offset(days, 2028, 3, 2).name == "-01")
  }

  @Test(
    "What is no rule is UTC, as for the C library",
    arguments: [
      "", ":", "X", "CET", "CET-", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0x",
    ])
  func noRules(text: String) {
    guard ZoneInfo(named: text) == nil else { return }
    #expect(ZoneInfo.local(environment: ["TZ": text]).offset(at: 0).name == "UTC")
  }

  @Test(
    "Names that leave the folder of zones are none",
    arguments: ["../../etc/localtime", "/etc/localtime", "", "UTC/", "."])
  func names(name: String) { #expect(ZoneInfo(named: name) == nil) }

  @Test("A damaged file is refused or read, and never ends the process", .enabled(if: SystemdCalendar.hasZones()))
  func damagedFiles() throws {
    let path = "/usr/share/zoneinfo/Europe/Berlin"
    let whole = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(ZoneInfo(file: whole) != nil)
    for count in stride(from: 0, to: whole.count, by: 7) { _ = ZoneInfo(file: Array(whole.prefix(count))) }
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<2000 {
      var bytes = whole
      for _ in 0..<3 {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
      }
      if let zone = ZoneInfo(file: bytes) { _ = zone.offset(at: 1_800_000_000) }
    }
  }
}
