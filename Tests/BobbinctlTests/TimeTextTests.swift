import Foundation
import StatusReplies
import Testing

@testable import bobbinctl

@Suite("Times for people")
struct TimeTextTests {
  @Test(
    "Moments are told relative to now, with and without fractions of a second",
    arguments: [
      ("2026-01-01T00:00:00Z", "just now"), ("2025-12-31T23:59:59Z", "1 s ago"), ("2026-01-01T00:00:03.5Z", "in 3 s"),
      ("2025-12-31T23:58:01Z", "119 s ago"), ("2025-12-31T22:10:00Z", "110 min ago"),
      ("2025-12-31T01:00:00+01:00", "24 h ago"), ("2025-12-24T00:00:00Z", "8 d ago"), ("yesterday", "yesterday"),
    ])
  func relative(time: String, text: String) throws {
    let now = Date(timeIntervalSince1970: 1_767_225_600)
    let timestamp = try JSONDecoder().decode(Timestamp.self, from: Data("\"\(time)\"".utf8))
    #expect(TimeText(now: now).relative(timestamp) == text)
  }

  @Test(
    "Moments are read as local days and minutes, by ISO 8601, and as how long ago they were",
    arguments: [
      ("2h", -7_200.0), ("1d 12h", -129_600), ("2026-01-01T00:00:00Z", 0), ("2026-01-01T01:00:00.5+01:00", 0.5),
      ("2h ago", -7_200), ("now", 0),
      ("2026-04-31", nil), ("2026-13-01", nil), ("someday", nil), ("", nil), ("2026-01-01 10:00x", nil),
    ] as [(String, Double?)])
  func moments(text: String, seconds: Double?) {
    let now = Date(timeIntervalSince1970: 1_767_225_600)
    #expect(TimeText(now: now).moment(text).map { $0.timeIntervalSince(now) } == seconds)
  }

  @Test("A local day or minute is what the calendar of this time zone says")
  func localMoments() throws {
    let midnights = ["yesterday", "today", "tomorrow"].compactMap { TimeText().moment($0) }
    #expect(midnights.count == 3 && midnights[1] == Calendar.current.startOfDay(for: Date()))
    #expect(midnights.allSatisfy { Calendar.current.startOfDay(for: $0) == $0 } && midnights == midnights.sorted())
    for (text, hour, minute) in [("2026-07-01", 0, 0), ("2026-07-01 10:30", 10, 30), ("2026-01-01T23:59", 23, 59)] {
      let date = try #require(TimeText().moment(text))
      let parts = Calendar(identifier: .gregorian).dateComponents([.day, .hour, .minute, .second], from: date)
      #expect(parts.day == 1 && parts.hour == hour && parts.minute == minute && parts.second == 0)
    }
  }
}
