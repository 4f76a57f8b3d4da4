import JSONText
import Jobs
import Testing

@testable import ProgramHandler

@Suite("The parser of a program's output")
struct OutputParserTests {
  /// What a parser makes of a text, with neighbouring texts joined.
  private func parse(_ bytes: [UInt8], limit: Int = 1000, pieces: Int = .max) throws -> [OutputParser.Item] {
    var parser = OutputParser(lineLimit: limit)
    var items: [OutputParser.Item] = []
    func append(_ item: OutputParser.Item) {
      if case .text(let more) = item, case .text(let text)? = items.last {
        items[items.count - 1] = .text(text + more)
      } else {
        items.append(item)
      }
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      try parser.read(Array(rest.prefix(pieces)), append)
      rest = rest.dropFirst(pieces)
    }
    try parser.finish(append)
    return items
  }

  private func parse(_ text: String, limit: Int = 1000) throws -> [OutputParser.Item] {
    try parse(Array(text.utf8), limit: limit)
  }

  private static let mixed = """
    starting
    {"progress": {"done": 3, "total": 10, "unit": "pages", "message": "page 3"}}
      {"insert": {"entity": "Reading", "values": {"number": 1, "note": null}}}
    {"insert": [{"entity": "A", "values": {}}, {"entity": "B", "values": {"x": [1]}}], "checkpoint": "page 3"}
    {"level": "info", "text": "a structured log line is no message"}
    [1, 2]

    {"log": "hello"}
    {"result": {"pages": 10}}
    {"error": {"message": "no ink", "permanent": true}}
    { not json at all
    done
    """

  private static let expected: [OutputParser.Item] = [
    .text(Array("starting\n".utf8)),
    .message(.progress(JobProgress(done: 3, total: 10, unit: "pages", message: "page 3")), line: 2, byteCount: 76),
    .text(Array("  ".utf8)),
    .message(
      .insert([ObjectInsert(entity: "Reading", values: ["number": 1, "note": .null])]), line: 3, byteCount: 72),
    .message(
      .insert([ObjectInsert(entity: "A", values: [:]), ObjectInsert(entity: "B", values: ["x": [1]])]), line: 4,
      byteCount: 106),
    .message(.checkpoint("page 3"), line: 4, byteCount: 0),
    .text(Array("{\"level\": \"info\", \"text\": \"a structured log line is no message\"}\n[1, 2]\n\n".utf8)),
    .message(.log("hello"), line: 8, byteCount: 16),
    .message(.result(["pages": 10]), line: 9, byteCount: 25),
    .message(.failure(JobFailure("no ink", isPermanent: true)), line: 10, byteCount: 51),
    .text(Array("{ not json at all\ndone".utf8)),
  ]

  @Test("Messages are told from text, with their lines, wherever the output is cut", arguments: [1, 2, 3, 7, 64, 1000])
  func mixed(pieces: Int) throws {
    #expect(try parse(Array(Self.mixed.utf8), pieces: pieces) == Self.expected)
  }

  @Test("Lines may end with CR LF, and the last one with nothing")
  func lineEnds() throws {
    #expect(
      try parse("{\"log\": \"a\"}\r\n{\"log\": \"b\"}") == [
        .message(.log("a"), line: 1, byteCount: 13), .message(.log("b"), line: 2, byteCount: 12),
      ])
  }

  @Test("Any bytes are text, however many", arguments: [1, 3, 4096])
  func garbage(pieces: Int) throws {
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(try parse(bytes, pieces: pieces) == [.text(bytes)])
  }

  @Test("A long line is text and is not gathered; one that begins like a message is refused")
  func longLines() throws {
    let long = String(repeating: "x", count: 5000)
    #expect(try parse(long + "\n", limit: 1000) == [.text(Array((long + "\n").utf8))])
    #expect(try parse("{" + long, limit: 1000) == [.text(Array(("{" + long).utf8))])
    for end in ["", "\n"] {
      let error = #expect(throws: OutputError.self) { try parse("a\n{ \"insert\": \"\(long)\"}\(end)", limit: 1000) }
      #expect(
        error?.description
          == "line 2 of its output: the message is longer than 1000 bytes; see OutputLineMax, or write several")
    }
  }

  @Test(
    "A message of the wrong shape is refused, with its line and what is expected",
    arguments: [
      (#"{"insert": {"entity": "Rea"#, "it begins like a message, but is not JSON: "),
      (#"{"insert": {"entity": 3, "values": {}}}"#, "\"insert.entity\" must be a string, not an integer"),
      (#"{"insert": {"entity": "A"}}"#, "\"insert.values\" is missing"),
      (#"{"insert": [{"entity": "A", "values": {}}, 7]}"#, "\"insert[1]\" must be an object, not an integer"),
      (
        #"{"insert": {"entty": "A", "values": {}}}"#,
        "\"insert.entty\" is not a key of a message; did you mean \"entity\"?"
      ),
      (#"{"progress": 3}"#, "\"progress\" must be an object, not an integer"),
      (#"{"progress": {"done": -1}}"#, "\"progress.done\" must be a whole number from 0, not -1.0"),
      (#"{"progress": {"total": 1}}"#, "\"progress.done\" is missing"),
      (#"{"result": [1]}"#, "\"result\" must be an object, not an array"),
      (#"{"checkpoint": 7}"#, "\"checkpoint\" must be a string, not an integer"),
      (#"{"log": null}"#, "\"log\" must be a string, not null"),
      (#"{"error": "bad"}"#, "\"error\" must be an object, not a string"),
      (#"{"error": {"message": "x", "permanent": "no"}}"#, "\"error.permanent\" must be true or false, not a string"),
      (#"{"result": {}, "chekpoint": "a"}"#, "\"chekpoint\" is not a key of a message; did you mean \"checkpoint\"?"),
    ])
  func wrongShape(line: String, message: String) throws {
    let error = #expect(throws: OutputError.self) { try parse("one\ntwo\n\(line)\n") }
    #expect(error?.line == 3)
    #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
  }
}
