import Testing

@testable import ProgramHandler

@Suite("The cursor of a process job")
struct ProcessCursorTests {
  @Test("Text and keys come back from what is stored; keys that follow each other are joined")
  func stored() throws {
    var cursor = ProcessCursor()
    cursor.text = "page \"3\"\n"
    for key: Int64 in [5, 6, 7, 20, 21] { cursor.note(key, of: "Reading") }
    cursor.note(1, of: "Other")
    #expect(cursor.inserted == ["Reading": [5..<8, 20..<22], "Other": [1..<2]])
    #expect(ProcessCursor(cursor.stored) == cursor)
    #expect(ProcessCursor(ProcessCursor().stored) == ProcessCursor())
    #expect(ProcessCursor("{}") == nil)
  }

  @Test("Everything is taken back once, piece by piece")
  func takingBack() {
    var cursor = ProcessCursor()
    for key: Int64 in Array(1...7) + [30] { cursor.note(key, of: "A") }
    cursor.note(9, of: "B")
    var taken: [String] = []
    while let (entity, keys) = cursor.popObjects(atMost: 3) {
      taken += keys.map { "\(entity)\($0)" }
      #expect(keys.count <= 3)
      #expect(cursor.isReverting)
    }
    #expect(taken.sorted() == (Array(1...7) + [30]).map { "A\($0)" }.sorted() + ["B9"])
    #expect(cursor.inserted.isEmpty)
  }
}
