import Testing
import TextSupport

@Suite("Nearest names")
struct NearestNameTests {
  private static let names = ["type", "priority", "parameters", "queue", "id"]

  @Test(
    "The nearest name is the one with the fewest edits",
    arguments: [
      ("prioritty", "priority"), ("proirity", "priority"), ("TYPE", "type"), ("params", "parameters"),
      ("queues", "queue"),
      ("idd", "id"), ("", "id"),
    ])
  func nearest(_ typed: String, _ meant: String) {
    #expect(NearestName.find(typed, in: Self.names, within: 4) == meant)
  }

  @Test("A name that resembles none has no suggestion unless any will do")
  func far() {
    #expect(NearestName.find("colour", in: Self.names) == nil)
    #expect(NearestName.find("params", in: Self.names) == nil)
    #expect(NearestName.find("prioritty", in: Self.names) == "priority")
    #expect(NearestName.find("colour", in: Self.names, within: .max) != nil)
    #expect(NearestName.find("colour", in: [], within: .max) == nil)
  }

  @Test("Two edits of a short name make a suggestion, three don't; case is no edit")
  func limit() {
    #expect(NearestName.find("qeuue", in: ["queue"]) == "queue")
    #expect(NearestName.find("quxyz", in: ["queue"]) == nil)
    #expect(NearestName.find("MAXATTEMPTS", in: ["maxAttempts"]) == "maxAttempts")
    #expect(NearestName.find("TyPe", in: ["type"], within: 0) == "type")
  }

  @Test("Of equally near names the first wins")
  func ties() {
    #expect(NearestName.find("b", in: ["c", "a"]) == "c")
  }

  @Test("A very long name costs no more than the longest sensible one")
  func long() {
    #expect(NearestName.find(String(repeating: "x", count: 1_000_000), in: Self.names) == nil)
  }
}
