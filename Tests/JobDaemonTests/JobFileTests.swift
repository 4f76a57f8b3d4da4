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

  @Test("What few jobs say is read, and as words of a record it is read back the same")
  func options() throws {
    let text = """
      {"type": "noop", "notBefore": "2026-11-21T11:00:00+01:00", "timeout": "2m", "after": "a", "afterAny": ["b", "c"],
       "unique": "u", "batch": "x", "limit": {"key": "k", "concurrent": 2, "rate": "10/s"},
       "backoff": {"kind": "linear", "base": "3s", "limit": 60, "jitter": 0.5}}
      """
    let job = try #require(try jobs(text).first)
    #expect(job.notBefore == Date(timeIntervalSince1970: 1_795_255_200))
    #expect(job.timeout == .seconds(120))
    #expect((job.after, job.afterAny) == (["a"], ["b", "c"]))
    #expect((job.unique, job.batch) == ("u", "x"))
    #expect(job.limit == JobLimit(key: "k", concurrent: 2, rate: JobLimit.Rate(10, per: .seconds(1))))
    #expect(job.backoff == Backoff(.linear, base: .seconds(3), limit: .seconds(60), jitter: 0.5))
  }

  @Test("A delay counts from the moment of acceptance")
  func delay() throws {
    let now = Date(timeIntervalSince1970: 1_000_000)
    let file = try JobFile(Data(#"{"type": "noop", "delay": "1h 5min"}"#.utf8), at: now)
    #expect(file.jobs.map(\.notBefore) == [now + 3_900])
  }

  @Test(
    "Values at the ends of their ranges are taken, and no others",
    arguments: [
      (#""maxAttempts": 1"#, true), (#""maxAttempts": 1000"#, true), (#""maxAttempts": 0"#, false),
      (#""maxAttempts": 1001"#, false), (#""priority": 100"#, true), (#""priority": 101"#, false),
      (#""priority": -101"#, false), (#""timeout": "1us""#, true), (#""timeout": 0"#, false),
      (#""timeout": "3660d""#, true), (#""timeout": "3661d""#, false), (#""backoff": {"jitter": 1}"#, true),
      (#""backoff": {"jitter": 1.01}"#, false), (#""backoff": {"jitter": -0.1}"#, false),
      (#""backoff": "sometimes""#, false), (#""backoff": {"base": "0s"}"#, false), (#""limit": {"key": "k"}"#, false),
      (#""limit": {"concurrent": 1}"#, false), (#""limit": {"key": "k", "concurrent": 0}"#, false),
      (#""limit": {"key": "k", "rate": "0/s"}"#, false), (#""unique": "\#(String(repeating: "u", count: 200))""#, true),
      (#""unique": "\#(String(repeating: "u", count: 201))""#, false), (#""unique": """#, false),
      (#""delay": "soon""#, false), (#""delay": "5m", "notBefore": "2026-11-21T10:00:00Z""#, false),
      (#""notBefore": "2026-11-21"#, false), (#""retries": 3"#, false),
    ])
  func ranges(member: String, isTaken: Bool) {
    let text = #"{"type": "noop", \#(member)}"#
    if isTaken { #expect(throws: Never.self) { try jobs(text) } }
    if !isTaken { #expect(throws: JobFileError.self) { try jobs(text) } }
  }

  @Test("A file without jobs is refused, and a callback for which its own batch would wait")
  func callbacks() throws {
    func key(_ text: String) -> String? { #expect(throws: JobFileError.self) { try jobs(text) }?.key }
    #expect(key(#"{"jobs": []}"#) == "jobs")
    let callback = #""callback": {"type": "noop", "id": "c"}"#
    #expect(key(#"{"jobs": [{"type": "a"}, {"type": "a", "after": "c"}], \#(callback)}"#) == "jobs[1].after")
    #expect(key(#"{"jobs": [{"type": "a", "afterAny": ["c"]}], \#(callback)}"#) == "jobs[0].afterAny")
    let ownBatch = #"{"jobs": [{"type": "a"}], "batch": "b", "callback": {"type": "a", "batch": "b"}}"#
    #expect(key(ownBatch) == "callback.batch")
    let file = try JobFile(Data(#"{"jobs": [{"type": "a"}], "batch": "b", \#(callback)}"#.utf8))
    #expect(file.hasCallback && file.batch == "b" && file.jobs.map(\.id) == [nil, "c"])
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
