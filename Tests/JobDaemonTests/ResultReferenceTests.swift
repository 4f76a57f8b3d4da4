import Foundation
import JSONText
import ObjectGraph
import TestSupport
import Testing

@testable import JobDaemon
@testable import Jobs

@Suite("References to results in arguments")
struct ResultReferenceTests {
  private func reference(_ path: String) throws -> ResultReference {
    try #require(ResultReference.all(in: ["input": ["from": "a", "result": .string(path)]]).first)
  }

  @Test("A reference is an object with just the two texts, wherever it stands")
  func found() throws {
    let arguments: JSONValue = [
      "input": ["from": "a", "result": "b"], "list": [1, ["x": ["result": "", "from": "c"]]],
      "mail": ["from": "me", "to": "you"], "number": ["from": "a", "result": 1],
      "more": ["from": "a", "result": "b", "or": "c"],
    ]
    let references = ResultReference.all(in: arguments)
    #expect(references.map(\.place) == ["arguments.input", "arguments.list.1.x"])
    #expect(references.map(\.job) == ["a", "c"])
    #expect(references.map(\.path) == ["b", ""])
  }

  @Test(
    "A path leads through objects and lists",
    arguments: [("", #"{"o":[{"p":"x"}],"e":{}}"#), ("o", #"[{"p":"x"}]"#), ("o.0", #"{"p":"x"}"#), ("o.0.p", #""x""#)])
  func value(_ path: String, _ expected: String) throws {
    let result: JSONValue = ["o": [["p": "x"]], "e": [:]]
    #expect(try reference(path).value(in: result).serialized() == expected)
  }

  @Test(
    "A path that leads nowhere tells what there is",
    arguments: [
      ("q", "the result has o, e, l"), ("o.1", #""o" is a list of 1, from 0"#),
      ("o.-1", #""o" is a list of 1, from 0"#),
      ("o.0.p.z", #""o.0.p" is a string"#), ("e.x", #""e" is an empty object"#), ("l.0", #""l" is an empty list"#),
    ])
  func noValue(_ path: String, _ expected: String) throws {
    let result: JSONValue = ["o": [["p": "x"]], "e": [:], "l": []]
    let failure = #expect(throws: JobFailure.self) { try reference(path).value(in: result) }
    #expect(failure?.message == #""arguments.input": the result of the job "a" has no "\#(path)": \#(expected)"#)
  }

  @Test("A job must come after the jobs whose results it takes")
  func after() throws {
    func read(_ after: String) throws {
      _ = try JobFile(
        Data(
          #"""
          {"type": "t", \#(after)
           "arguments": {"list": [{"from": "a", "result": "b"}]}}
          """#.utf8))
    }
    try read(#""after": ["z", "a"],"#)
    for wrong in ["", #""after": "z","#, #""afterAny": "a","#] {
      let error = #expect(throws: JobFileError.self) { try read(wrong) }
      #expect(error?.line == 2)
      #expect(
        "\(try #require(error))"
          == #"line 2: "arguments.list[0]": takes a result of the job "a", which is not in "after"; add it there"#)
    }
  }

  @Test("A handler that expects a text, a number or a truth value takes a reference, and its other checks hold")
  func checks() throws {
    func check(_ arguments: JSONValue) throws(JobFileError) {
      var job = JobSpecification(type: "t", arguments: arguments)
      job.after = ["a"]
      try job.checkArguments { (arguments) throws(JobFileError) in
        let reader = try ArgumentReader(arguments)
        _ = try reader.requiredPath("input")
        _ = try reader.integer("count", in: 5...9)
        _ = try reader.flag("flag")
        try reader.allow(["input", "count", "flag"])
      }
    }
    let reference: JSONValue = ["from": "a", "result": "b"]
    try check(["input": reference])
    try check(["input": reference, "flag": reference])
    // No stand-in lies between 5 and 9, so that the number is left to the attempt.
    try check(["input": reference, "count": reference])
    let error = #expect(throws: JobFileError.self) { try check(["input": reference, "flga": true]) }
    #expect(error?.key == "arguments.flga")
    #expect(throws: JobFileError.self) { try check(["input": reference, "count": 4]) }
    #expect(throws: JobFileError.self) { try check(["flag": reference]) }
  }

  @Test("A job whose predecessor has lost its result, or its record, fails and tells so")
  func noResult() async throws {
    let handler = ScriptedHandler("takes") { execution in execution.arguments["x"] ?? .null }
    let giver = ScriptedHandler("gives") { execution in
      if execution.attempt > 1 { throw JobFailure("no more") }
      return ["y": [1, 2]]
    }
    let fixture = try DaemonFixture(handlers: [handler, giver])
    try fixture.start()
    let ids = try await fixture.run(
      #"""
      {"jobs": [{"type": "gives", "id": "a"},
        {"type": "takes", "id": "b", "after": "a", "arguments": {"x": {"from": "a", "result": "y"}}}]}
      """#)
    #expect(try fixture.record("b") { $0.result } == "[1,2]")
    #expect(try fixture.record("b") { $0.arguments } == #"{"x":{"from":"a","result":"y"}}"#)
    #expect(try await fixture.perform(.retry, on: "a") == .done)
    try await fixture.waitForRelease(of: [ids[0]])
    #expect(try await fixture.perform(.retry, on: "b") == .done)
    try await fixture.waitForRelease(of: [ids[1]])
    #expect(
      try fixture.record("b") { $0.failure } == #""arguments.x": the job "a" is discarded, and has no result"#)
    try ManagedObjectContext(parent: fixture.daemon.main, name: "test").performAndWait { context in
      context.delete(try context.job(with: ids[0]))
      try context.save()
    }
    #expect(try await fixture.perform(.retry, on: "b") == .done)
    try await fixture.waitForRelease(of: [ids[1]])
    #expect(
      try fixture.record("b") { $0.failure } == #""arguments.x": there is no record of the job "a" any more"#)
    try await fixture.stop()
  }
}
