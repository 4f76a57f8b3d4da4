import Foundation
import Testing

@testable import TextSupport

@Suite("A moment in a text")
struct MomentTextTests {
  @Test(
    "is read with its fraction and its distance from UTC",
    arguments: [
      ("2026-11-21T10:00:00Z", 0), ("2026-11-21T10:00:00.25Z", 0.25), ("2026-11-21T11:00:00+01:00", 0),
      ("2026-11-20T20:30:00-13:30", 0), ("2024-02-29T23:59:59Z", -86_004_001),
    ])
  func read(text: String, offset: TimeInterval) throws {
    let base = Date(timeIntervalSince1970: 1_795_255_200)
    #expect(try #require(Date(moment: text)).timeIntervalSince(base) == offset)
  }

  @Test(
    "is refused if no calendar has it, or if its form is another one",
    arguments: [
      "2027-02-30T10:00:00Z", "2027-02-29T10:00:00Z", "2027-04-31T10:00:00Z", "2027-13-01T10:00:00Z",
      "2027-00-01T10:00:00Z", "2027-01-00T10:00:00Z", "2027-01-01T24:00:00Z", "2027-01-01T10:60:00Z",
      "2027-01-01T10:00:60Z", "2027-01-01T10:00:00", "2027-01-01", "2027-1-1T10:00:00Z", "soon", "",
      "2027-01-01T10:00:00Z and more",
    ])
  func refused(text: String) { #expect(Date(moment: text) == nil) }
}
