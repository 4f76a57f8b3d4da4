import Foundation
import Testing

@testable import bobbinctl

@Suite("Times for people")
struct TimeTextTests {
  @Test(
    "Durations have a fitting unit",
    arguments: [
      (-1, "0 s"), (0, "0 s"), (0.0000042, "4.2 µs"), (0.0123, "12 ms"), (1, "1 s"), (9.94, "9.9 s"), (9.96, "10 s"),
      (59.4, "59 s"), (60, "1 min"), (3725, "1 h 2 min"), (86_400, "1 d"), (.infinity, "1157407407407 d 9 h"),
    ] as [(Double, String)])
  func durations(seconds: Double, text: String) {
    #expect(TimeText.duration(seconds) == text)
  }

  @Test(
    "Moments are told relative to now, with and without fractions of a second",
    arguments: [
      ("2026-01-01T00:00:00Z", "now"), ("2025-12-31T23:59:59Z", "1 s ago"), ("2026-01-01T00:00:03.5Z", "in 3 s"),
      ("2025-12-31T23:58:01Z", "119 s ago"), ("2025-12-31T22:10:00Z", "110 min ago"),
      ("2025-12-31T01:00:00+01:00", "24 h ago"), ("2025-12-24T00:00:00Z", "8 d ago"), ("yesterday", "yesterday"),
    ])
  func relative(time: String, text: String) throws {
    let now = Date(timeIntervalSince1970: 1_767_225_600)
    let timestamp = try JSONDecoder().decode(Timestamp.self, from: Data("\"\(time)\"".utf8))
    #expect(TimeText(now: now).relative(timestamp) == text)
  }
}
