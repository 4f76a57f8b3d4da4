import Foundation
import JSONText
import Jobs
import ObjectGraph
import TestSupport
import Testing

@testable import JobDaemon

/// Edits of jobs, and deletes.
@Suite("A job that people change")
struct EditTests {
  private let fixture: DaemonFixture
  private let begun: AsyncStream<Void>

  init() throws {
    let (begun, continuation) = AsyncStream<Void>.makeStream()
    self.begun = begun
    fixture = try DaemonFixture(handlers: [
      ScriptedHandler("work") { execution in
        continuation.yield()
        while execution.specification.arguments["hang"] != nil && !Task.isCancelled { await Task.yield() }
        return execution.specification.arguments
      }
    ])
    try fixture.start()
  }

  private func edit(_ handle: String, _ body: String) async throws -> String {
    try await withTimeout { [fixture] in
      let edit = try JobEdit(try JSONValue(parsing: Array(body.utf8)))
      return try await withCheckedThrowingContinuation { continuation in
        fixture.daemon.control.edit(handle, edit, by: .owner) { continuation.resume(with: $0) }
      }
    }
  }

  private func refusal(_ handle: String, _ body: String) async throws -> String {
    do {
      return "done: \(try await edit(handle, body))"
    } catch let error as EditRefusal {
      return error.message
    } catch {
      return "\(error)"
    }
  }

  @Test("gets other arguments and another priority while it does not run, and runs with them")
  func edited() async throws {
    let id = try fixture.submit(
      #"""
      {"type": "work", "id": "x", "notBefore": "2100-01-01T00:00:00Z", "timeout": "1h",
        "arguments": {"a": 1, "list": [{"b": 2}, 3], "gone": null}}
      """#)
    let body =
      #"{"set": {"a": "one", "list.0.b": true, "list.2": {}, "new.deep": 4}, "unset": ["gone"], "priority": 9}"#
    #expect(try await edit("x", body) == "x")
    let arguments = #"{"a":"one","list":[{"b":true},3,{}],"new":{"deep":4}}"#
    #expect(try fixture.record("x") { [$0.arguments, "\($0.priority)", $0.state] } == [arguments, "9", "scheduled"])
    #expect(try await fixture.perform(.retry, on: "x") == .done)
    try await fixture.waitForRelease(of: id)
    #expect(try fixture.record("x") { $0.result } == arguments)
    try await fixture.stop()
  }

  @Test("stays as it is if it runs, is over, or nobody knows it, and the reason says what to do")
  func refused() async throws {
    try await fixture.run(#"{"type": "noop", "id": "done"}"#)
    let running = try fixture.submit(#"{"type": "work", "id": "runs", "arguments": {"hang": true}}"#)
    try await withTimeout { [begun] in for await _ in begun { break } }
    let set = #"{"set": {"a": 1}}"#
    #expect(try await refusal("runs", set) == #"the job "runs" can't be edited: it is running"#)
    #expect(try await refusal("done", set) == #"the job "done" can't be edited: it is completed"#)
    #expect(try await refusal("none", set) == #"there is no job "none""#)
    #expect(try await fixture.perform(.cancel(reason: "enough"), on: "runs") == .done)
    try await fixture.waitForRelease(of: running)
    try await fixture.stop()
  }

  @Test("is checked as a new one, and against what its editor has seen")
  func checked() async throws {
    _ = try fixture.submit(
      #"{"type": "work", "id": "x", "notBefore": "2100-01-01T00:00:00Z", "arguments": {"a": {"b": 1}}}"#)
    #expect(
      try await refusal("x", #"{"set": {"a.b.c": 1}}"#)
        == #""arguments.a.b.c": there is no such place in the arguments"#)
    #expect(
      try await refusal("x", #"{"unset": ["c"]}"#) == #""arguments.c": there is no such place in the arguments"#)
    let reference = try await refusal("x", #"{"arguments": {"a": {"from": "other", "result": ""}}}"#)
    #expect(reference.contains("other"), "\(reference)")
    let seen = #"{"arguments": {"a": 2}, "seen": {"a": {"b": 2}}}"#
    #expect(try await refusal("x", seen) == #"somebody else has changed the job "x" meanwhile"#)
    #expect(try await edit("x", #"{"arguments": {"a": 2}, "seen": {"a": {"b": 1}}}"#) == "x")
    #expect(try fixture.record("x") { [$0.arguments, $0.state] } == [#"{"a":2}"#, "scheduled"])
    try await fixture.stop()
  }

  @Test("is not edited once a part of its work is in the store, but for its priority")
  func begun() async throws {
    let id = try fixture.submit(#"{"type": "work", "id": "x", "notBefore": "2100-01-01T00:00:00Z"}"#)
    try ManagedObjectContext(parent: fixture.daemon.main, name: "test").performAndWait { context in
      try context.job(with: id[0]).cursor = "row 7"
      try context.save()
    }
    let reason = #"the job "x" can't be edited: a part of its work is in the store already"#
    #expect(try await refusal("x", #"{"set": {"a": 1}}"#) == reason)
    #expect(try await edit("x", #"{"priority": 3}"#) == "x")
    #expect(try fixture.record("x") { [$0.arguments, "\($0.priority)", $0.state] } == ["{}", "3", "scheduled"])
    try await fixture.stop()
  }

  @Test("is deleted with its attempts if it is over and no unfinished job names it")
  func deleted() async throws {
    try await fixture.run(#"{"type": "noop", "id": "a"}"#)
    try await fixture.run(#"{"type": "noop", "id": "b"}"#)
    let later = #""notBefore": "2100-01-01T00:00:00Z""#
    _ = try fixture.submit(#"{"type": "noop", "id": "after a", "after": "a", \#(later)}"#)
    #expect(try await fixture.perform(.delete, on: "a") == .needed(.completed, by: "after a"))
    #expect(try await fixture.perform(.delete, on: "after a") == .impossible(.scheduled))
    #expect(try await fixture.perform(.delete, on: "b") == .done)
    #expect(try await fixture.perform(.delete, on: "b") == .unknown)
    #expect(try await fixture.perform(.cancel(reason: "enough"), on: "after a") == .done)
    #expect(try await fixture.perform(.delete, on: "a") == .done)
    #expect(try fixture.jobCount() == 1)
    // Its ID is nobody's now.
    try await fixture.run(#"{"type": "work", "id": "b"}"#)
    #expect(try fixture.record("b") { [$0.type, $0.state] } == ["work", "completed"])
    try await fixture.stop()
  }
}
