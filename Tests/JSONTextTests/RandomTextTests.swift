import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

@Suite("Random JSON")
struct RandomTextTests {
  @Test("What is written is read as the same value, by both dialects", arguments: [false, true])
  func roundTrip(pretty: Bool) throws {
    var random = RandomSource(seed: 1)
    for _ in 0..<2_000 {
      let value = random.value(depth: 4)
      let bytes = value.serializedBytes(pretty: pretty)
      #expect(try JSONValue(parsing: bytes) == value)
      #expect(try JSONValue(parsing: bytes, dialect: .json5) == value)
    }
  }

  @Test(
    "Damaged texts give a value that can be written, or an error inside the text",
    arguments: [JSONDialect.json, .json5])
  func damage(dialect: JSONDialect) throws {
    var random = RandomSource(seed: 2)
    let pieces = Array("{}[]\",:'\\/*u0+-.eExN \n\r\t\u{0}\u{FF}").flatMap { Array(String($0).utf8) }
    var refusedCount = 0
    for round in 0..<10_000 {
      var bytes = random.value(depth: 3).serializedBytes(pretty: round % 2 == 0)
      for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes.remove(at: index)
        case 1: bytes.insert(pieces.randomElement(using: &random) ?? 0, at: index)
        case 2: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 3: bytes[index] = pieces.randomElement(using: &random) ?? 0
        default: bytes.removeSubrange(index...)
        }
      }
      do throws(JSONError) {
        let value = try JSONValue(parsing: bytes, dialect: dialect)
        #expect(failure(of: value.serializedBytes()) == nil)
      } catch {
        refusedCount += 1
        #expect((0...bytes.count).contains(error.byteOffset) && error.line > 0 && error.column > 0)
        #expect(!error.message.isEmpty && error.message.utf8.count < 400)
      }
    }
    #expect(refusedCount > 1_000)
  }

  private static let python = "/usr/bin/python3"

  static func hasPython() -> Bool {
    SkipReason("needs \(python)").unless(access(python, X_OK) == 0)
  }

  // Python writes each text of the input in its own way: escapes beyond ASCII, spaces, and its form of numbers.
  private static let program = """
    import json, sys
    for line in open(0, encoding="utf-8", newline="\\n"):
        print(json.dumps(json.loads(line), indent=None))
    """

  @Test("Python reads what is written, and what it writes then is read as the same", .enabled(if: hasPython()))
  func agreement() async throws {
    var random = RandomSource(seed: 3)
    let values = (0..<1_000).map { _ in random.value(depth: 4) }
    let texts = values.map { $0.serialized() }.joined(separator: "\n") + "\n"
    let directory = try TemporaryDirectory()
    try texts.write(toFile: directory.path("texts"), atomically: false, encoding: .utf8)
    let input = open(directory.path("texts"), O_RDONLY | O_CLOEXEC)
    try #require(input >= 0)
    defer { close(input) }
    let output = try FileDescriptor.inMemory(named: "output")
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: Self.python, arguments: ["-c", Self.program], environment: ["PYTHONUTF8": "1"],
        descriptors: [0: input, 1: output.number, 2: 2]))
    let end = try await child.termination(killingAt: .after(.seconds(60)))
    try #require(end.termination.isSuccess)
    try #require(lseek(output.number, 0, SEEK_SET) == 0)
    let lines = try output.readAll(limit: 1 << 26).split(separator: 0x0A)
    try #require(lines.count == values.count)
    for (line, value) in zip(lines, values) {
      #expect(try JSONValue(parsing: line) == value)
    }
  }
}
