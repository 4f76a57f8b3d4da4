import Foundation
import JSONText
import Jobs
import Testing

@Suite("Job files")
struct JobFileTests {
  private func jobs(_ text: String) throws -> [JobSpecification] { try JobFile(Data(text.utf8)).jobs }

  @Test("One object is one job; what it leaves out has defaults")
  func defaults() throws {
    #expect(try jobs(#"{"type": "noop"}"#) == [JobSpecification(type: "noop")])
  }

  @Test("Every key is read, in JSON5 too")
  func keys() throws {
    let text = """
      // a thumbnail
      {type: 'noop', id: "a/b", queue: "images", priority: -100, maxAttempts: 5, arguments: {x: [1,],},}
      """
    let arguments: JSONValue = ["x": [1]]
    #expect(
      try jobs(text) == [
        JobSpecification(
          type: "noop", id: "a/b", queue: "images", priority: -100, maxAttempts: 5, arguments: arguments)
      ])
  }

  @Test("A list of jobs keeps its order")
  func list() throws {
    let read = try jobs(#"{"jobs": [{"type": "b", "id": "1"}, {"type": "a"}, {"type": "b"}]}"#)
    #expect(read.map(\.type) == ["b", "a", "b"])
    #expect(read.map(\.id) == ["1", nil, nil])
  }

  @Test(
    "Errors name line and key",
    arguments: [
      ("{\"type\": \"noop\",\n\"queue\": 1}", 2, "queue"),
      ("{\"type\": \"noop\", \"maxAttempts\": 1.5}", 1, "maxAttempts"),
      ("{\"jobs\": [{\"type\": \"a\"},\n\n{\"typ\": \"a\"}]}", 3, "jobs[1].typ"),
      ("{\"jobs\": [{\"type\": \"a\"},\n7]}", 2, "jobs[1]"),
      ("{\"jobs\": [],\n\"type\": \"a\"}", 2, "type"),
      ("{\"type\": \"\(String(repeating: "x", count: 101))\"}", 1, "type"),
      ("{\"type\": \"a\",\n\"arguments\": []}", 2, "arguments"),
    ])
  func errors(text: String, line: Int, key: String) throws {
    let error = try #require(throws: JobFileError.self) { _ = try jobs(text) }
    #expect(error.line == line)
    #expect(error.key == key)
  }

  @Test(
    "Control characters, and those that hide or reorder text, are refused in every name",
    arguments: ["id", "type", "queue", "batch", "unique", "after"],
    ["\u{1b}", "\u{7f}", "\u{9b}", "\u{200b}", "\u{200d}", "\u{202e}", "\u{2066}", "\u{2028}", "\u{feff}", "\u{e0041}"])
  func invisible(key: String, character: String) throws {
    let escaped = character.utf16.map {
      "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count)
        + String($0, radix: 16)
    }.joined()
    let type = key == "type" ? "" : #""type": "noop", "#
    let error = try #require(throws: JobFileError.self) { _ = try jobs("{\(type)\"\(key)\": \"a\(escaped)b\"}") }
    #expect(error.key == key)
    #expect(error.message.hasPrefix("must not contain control or invisible characters such as U+"))
  }

  @Test("Letters, signs and pictures of all scripts may be in names")
  func visible() throws {
    for name in ["größe", "名前", "नमस्ते", "a b", "✓ ❤️", "\u{a0}"] {
      #expect(try jobs("{\"type\": \"noop\", \"id\": \"\(name)\"}").first?.id == name)
    }
  }

  @Test("What a handler refuses gets its place in the file")
  func placed() throws {
    let text = "{\"jobs\": [{\"type\": \"a\"},\n{\"type\": \"b\", \"arguments\": {\n\"list\": [1,\n2]}}]}"
    let error = try #require(throws: JobFileError.self) {
      _ = try JobFile(Data(text.utf8)) { (job) throws(JobFileError) in
        if job.type == "b" { throw JobFileError("no", key: "arguments.list.1") }
      }
    }
    #expect(error.description == "line 4: \"jobs[1].arguments.list[1]\": no")
  }
}
