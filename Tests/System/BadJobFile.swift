import Foundation
import SystemSupport
import Testing

/// A job file that must be refused, and the reason that must be given.
struct BadJobFile: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let data: Data
  let reason: String

  init(_ description: String, _ text: String, _ reason: String) {
    self.init(description, Data(text.utf8), reason)
  }

  init(_ description: String, _ data: Data, _ reason: String) {
    testDescription = description
    self.data = data
    self.reason = reason
  }

  static let all: [BadJobFile] = [
    BadJobFile("empty", "", "the file is empty"),
    BadJobFile("blank", " \n\t\r\n", "the file is blank"),
    BadJobFile(
      "truncated", "{\n  \"type\": \"noop\",\n  \"argu",
      #"line 3: the text ends inside a string that begins at line 3, column 3"#),
    BadJobFile(
      "table", "name,age\nada,36\n",
      "it looks like a table, not a job file; `bobbinctl import` imports it, or drop it into a hot folder "
        + "(man bobbin-folder)"),
    BadJobFile(
      "an ID of nothing", ##"{"type": "noop", "id": "#"}"##,
      #"line 1: "id": is a # without a name behind it"#),
    BadJobFile("not JSON", "<job/>", #"line 1: expected a value, found "<""#),
    BadJobFile(
      "not UTF-8", Data("{\"type\":\n\"no".utf8) + [0xff, 0xfe] + Data("op\"}".utf8),
      #"line 2: the byte 0xFF is not UTF-8; save the text as UTF-8"#),
    BadJobFile(
      "UTF-16", Data([0xff, 0xfe]) + (#"{"type": "noop"}"#.data(using: .utf16LittleEndian) ?? Data()),
      #"line 1: the byte 0xFF is not UTF-8; save the text as UTF-8"#),
    BadJobFile(
      "picture", Data([0xff, 0xd8, 0xff, 0xe0]) + Data(count: 400),
      "it is a JPEG picture, not a job file; write a job file that names it as input, or drop it into a hot folder "
        + "(man bobbin-folder)"),
    BadJobFile(
      "large picture", Data([0x89]) + Data("PNG\r\n".utf8) + Data(count: 1 << 20),
      "it is a PNG picture, not a job file; write a job file that names it as input, or drop it into a hot folder "
        + "(man bobbin-folder)"),
    BadJobFile("NUL bytes", Data(count: 4096), #"line 1: expected a value, found U+0000"#),
    BadJobFile(
      "too large", Data(repeating: UInt8(ascii: " "), count: 1 << 20) + Data("{}".utf8),
      "it is larger than 1048576 bytes (1048578); see [Spool] MaxJobFileSize, or put one job on each line of a file that is "
        + "called *.ndjson"),
    BadJobFile(
      "nested deeply", String(repeating: "[", count: 100_000),
      #"line 1: more than 64 arrays and objects inside each other"#),
    BadJobFile("a list", "[]", "line 1: a job file holds one object, not an array"),
    BadJobFile("without a type", "{}", #"line 1: "type": is missing"#),
    BadJobFile(
      "of unknown type", "{\n\"type\": \"image.encod\"}",
      #"line 2: "type": there is no job type "image.encod"; there are image.encode, import, noop"#),
    BadJobFile(
      "with an unknown key", "{\"type\": \"noop\",\n\n\"priorty\": 3}",
      "line 3: \"priorty\": is no key of a job; did you mean \"priority\"?"),
    BadJobFile(
      "with a time span that is none", "{\"type\": \"noop\",\n\"timeout\": \"soon\"}",
      "line 2: \"timeout\": must be a time span of more than 0 and at most 10 years, such as \"250ms\", \"30s\", \"2m\" or \"1h 30min\""
    ),
    BadJobFile(
      "with jobs that wait for each other",
      "{\"jobs\": [{\"type\": \"noop\", \"id\": \"a\", \"after\": \"b\"},\n{\"type\": \"noop\", \"id\": \"b\", \"after\": [\"a\"]}]}",
      "line 1: \"jobs[0].after\": the jobs wait for each other in a circle: a after b after a"),
    BadJobFile(
      "with a mistyped key", "{\"type\": \"noop\",\n\"priority\": \"high\"}",
      #"line 2: "priority": must be a whole number, not a string"#),
    BadJobFile(
      "with a value out of range", "{\"type\": \"noop\",\n\"priority\": 101}",
      "line 2: \"priority\": must lie between -100 and 100, but is 101"),
    BadJobFile("with a type that is none", "{\"type\": 7}", #"line 1: "type": must be a string, not an integer"#),
    BadJobFile("with an empty ID", "{\"type\": \"noop\", \"id\": \"\"}", "line 1: \"id\": must not be empty"),
    BadJobFile(
      "with a control character in its ID", #"{"type": "noop", "id": "a\u001b[31m"}"#,
      "line 1: \"id\": must not contain control or invisible characters such as U+001B"),
    BadJobFile(
      "with an unknown argument", "{\"type\": \"import\",\n\"arguments\": {\n\"inputs\": \"a.csv\"}}",
      #"line 3: "arguments.inputs": is not an argument of this type; did you mean "input"?"#),
    BadJobFile(
      "without a required argument", "{\"type\": \"import\",\n\"arguments\": {\"entity\": \"Reading\"}}",
      #"line 2: "arguments.input": is missing"#),
    BadJobFile(
      "with an unknown entity",
      "{\"type\": \"import\",\n\"arguments\": {\"input\": \"a.csv\",\n\"entity\": \"Job\"}}",
      #"line 3: "arguments.entity": there is no entity "Job" to import into; there are Reading"#),
    BadJobFile(
      "with an unknown attribute",
      """
      {"type": "import", "arguments": {"input": "a.csv", "entity": "Reading",
      "columns": {"x": "numbr"}}}
      """,
      #"line 2: "arguments.columns.x": the entity "Reading" has no attribute "numbr"; did you mean "number"?"#),
    BadJobFile(
      "with an unknown picture format",
      """
      {"type": "image.encode", "arguments": {"input": "a.jpg", "outputs": [
        {"path": "a.png", "format": "png"},
        {"path": "a.bmp", "format": "bmp"}
      ]}}
      """,
      #"line 3: "arguments.outputs[1].format": must be one of jpeg, png, webp, avif, heif, tiff, gif, but is "bmp""#),
    BadJobFile(
      "with NUL in a path",
      #"{"type": "import", "arguments": {"input": "a\u0000b", "entity": "Reading"}}"#,
      #"line 1: "arguments.input": must not contain NUL"#),
    BadJobFile(
      "several jobs, one of them bad",
      """
      {"jobs": [
        {"type": "noop", "id": "first"},
        {"type": "noop", "id": "second", "maxAttempts": 0},
        {"type": "noop", "id": "third"}
      ]}
      """,
      #"line 3: "jobs[1].maxAttempts": must lie between 1 and 1000, but is 0"#),
    BadJobFile(
      "several jobs with one ID",
      "{\"jobs\": [{\"type\": \"noop\", \"id\": \"a\"},\n{\"type\": \"noop\", \"id\": \"a\"}]}",
      #"line 2: "jobs[1].id": the ID "a" occurs twice in the file"#),
    BadJobFile("no jobs", "{\"jobs\": []}", "line 1: \"jobs\": is empty"),
  ]
}
