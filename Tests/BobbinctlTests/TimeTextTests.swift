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
}
