import JSONText
import Testing

@Suite("Places in JSON documents")
struct JSONDocumentTests {
  private static let text = """
    // A job.
    {
      type: "encode", /* two
      lines */ "parameters": {
        "quality": 80,
        'sizes': [
          {"width": 1},
          {"width": 2,
           "height": 3}
        ]
      }
    }
    """

  @Test(
    "The line of a key is that of its first character",
    arguments: [
      ([], 2), (["type"], 3), (["parameters"], 4), (["parameters", "quality"], 5), (["parameters", "sizes"], 6),
      (["parameters", "sizes", "0"], 7), (["parameters", "sizes", "1"], 8),
      (["parameters", "sizes", "1", "height"], 9),
    ] as [([String], Int)])
  func lines(path: [String], line: Int) throws {
    #expect(try JSONDocument(parsing: Self.text.utf8, dialect: .json5).line(of: path) == line)
  }

  @Test(
    "A path that leads nowhere has no line",
    arguments: [
      ["none"], ["type", "x"], ["parameters", "sizes", "2"], ["parameters", "sizes", "-1"],
      ["parameters", "sizes", "width"],
    ])
  func noLines(path: [String]) throws {
    #expect(try JSONDocument(parsing: Self.text.utf8, dialect: .json5).line(of: path) == nil)
  }

  @Test("The value is that of the text")
  func value() throws {
    let document = try JSONDocument(parsing: Self.text.utf8, dialect: .json5)
    #expect(document.value["parameters"]?["sizes"]?.array?.last == ["width": 2, "height": 3])
  }

  @Test("A malformed text gives no document")
  func malformed() {
    #expect(throws: JSONError.self) { try JSONDocument(parsing: "[1".utf8) }
  }
}
