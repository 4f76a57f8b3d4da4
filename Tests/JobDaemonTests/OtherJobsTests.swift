import JSONText
import Jobs
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import JobDaemon

@Suite("What a job is told of the jobs before it")
struct OtherJobsTests {
  /// A handler that keeps what its jobs were told, by their IDs.
  private final class Listener: Sendable {
    private let told = Mutex<[String: (jobs: [PrecedingJob], batch: BatchSummary?)]>([:])

    var handler: ScriptedHandler {
      ScriptedHandler("listens") { [self] execution in
        let found = (try await execution.precedingJobs(), try await execution.batchSummary())
        told.withLock { $0[execution.jobID] = found }
        return .null
      }
    }

    func jobs(_ id: String) -> [PrecedingJob] { told.withLock { $0[id]?.jobs ?? [] } }
    func batch(_ id: String) -> BatchSummary? { told.withLock { $0[id]?.batch } }
  }

  /// A type whose jobs do what their arguments say: `fail` with a message, or end with `result`.
  private let scripted = ScriptedHandler("does") { execution in
    if let message = execution.arguments["fail"]?.string { throw JobFailure(message) }
    if let size = execution.arguments["size"]?.integer { return .string(String(repeating: "x", count: Int(size))) }
    return execution.arguments["result"] ?? .null
  }

  @Test("A job has the results and the errors of those that it came after, in the order in which it names them")
  func chain() async throws {
    let listener = Listener()
    let fixture = try DaemonFixture(handlers: [listener.handler, scripted])
    try fixture.start()
    try await fixture.run(
      ##"""
      {"jobs": [
        {"type": "listens", "id": "last", "after": ["two", "#one", "two"], "afterAny": "bad"},
        {"type": "does", "id": "#one", "arguments": {"result": {"rows": 3}}},
        {"type": "does", "id": "two", "after": "#one", "arguments": {"result": [1, "a"]}},
        {"type": "does", "id": "bad", "arguments": {"fail": "no ink"}}
      ]}
      """##)
    let jobs = listener.jobs("last")
    #expect(jobs.map(\.state) == [.completed, .completed, .discarded])
    #expect(jobs.map(\.result) == [[1, "a"], ["rows": 3], nil])
    #expect(jobs.map(\.error) == [nil, nil, "no ink"])
    #expect(jobs.map(\.id).first == "two" && jobs[1].id.hasSuffix("#one"))
    #expect(listener.batch("last") == nil)
    try await fixture.stop()
  }

  @Test("A job whose predecessor's record was removed is told so")
  func removed() async throws {
    let listener = Listener()
    let fixture = try DaemonFixture(handlers: [listener.handler, scripted])
    try fixture.start()
    let ids = try await fixture.run(
      #"{"jobs": [{"type": "does", "id": "a"}, {"type": "listens", "id": "b", "after": "a"}]}"#)
    try ManagedObjectContext(parent: fixture.daemon.main, name: "test").performAndWait { context in
      context.delete(try context.job(with: ids[0]))
      try context.save()
    }
    #expect(try await fixture.perform(.retry, on: "b") == .done)
    try await fixture.waitForRelease(of: [ids[1]])
    let jobs = listener.jobs("b")
    #expect(jobs.map(\.id) == ["a"] && jobs[0].state == nil && jobs[0].result == nil)
    #expect(jobs[0].error?.hasPrefix("there is no record of it any more") == true)
    try await fixture.stop()
  }

  @Test("Results that are too large together are left out, and smaller ones after them are not")
  func tooLarge() async throws {
    let listener = Listener()
    let fixture = try DaemonFixture(handlers: [listener.handler, scripted])
    try fixture.start()
    let size = 3 << 20
    try await fixture.run(
      #"""
      {"jobs": [
        {"type": "does", "id": "a", "arguments": {"size": \#(size)}},
        {"type": "does", "id": "b", "arguments": {"size": \#(size)}},
        {"type": "does", "id": "c", "arguments": {"size": 10}},
        {"type": "listens", "id": "last", "after": ["a", "b", "c"]}
      ]}
      """#)
    let jobs = listener.jobs("last")
    #expect(jobs.map { $0.result?.string?.count } == [size, nil, 10])
    #expect(jobs[1].state == .completed && jobs[1].error?.contains("larger than 4 MiB") == true)
    try await fixture.stop()
  }

  @Test("A callback has the counts of its batch of 1,200 jobs, and the first 1,000 that failed")
  func batch() async throws {
    let listener = Listener()
    let fixture = try DaemonFixture(handlers: [listener.handler, scripted])
    try fixture.start()
    let long = String(repeating: "é", count: 1_100)
    let jobs = (0..<1_200).map { number in
      #"{"type": "does", "id": "j\#(number)"\#(number < 1_050 ? #", "arguments": {"fail": "\#(long)"}"# : "")}"#
    }
    try await fixture.run(#"{"type": "does", "id": "other", "batch": "else", "arguments": {"fail": "no"}}"#)
    try await fixture.run(
      #"""
      {"batch": "nightly", "jobs": [\#(jobs.joined(separator: ","))], "callback": {"type": "listens", "id": "done"}}
      """#, within: 240)
    let batch = try #require(listener.batch("done"))
    #expect(batch.name == "nightly")
    #expect(batch.counts == [.discarded: 1_050, .completed: 150])
    #expect(batch.count == 1_200 && batch.failureCount == 1_050)
    #expect(batch.failures.map(\.id) == (0..<1_000).map { "j\($0)" })
    #expect(batch.failures.allSatisfy { $0.error?.count == 1_000 })
    #expect(batch.json["counts"] == ["completed": 150, "discarded": 1_050])
    #expect(batch.json["failedCount"] == 1_050)
    try await fixture.stop()
  }
}
