import Foundation
import Glibc
import Jobs
import ObjectGraph
import Testing

@testable import JobDaemon

@Suite("Selections of jobs")
struct JobSelectionTests {
  /// A page's jobs by name, and how many there are.
  private func page(
    _ selection: JobSelection, _ fixture: DaemonFixture, limit: Int = 10, offset: Int = 0
  ) throws -> (ids: [String], total: Int) {
    let daemon = fixture.daemon
    return try ManagedObjectContext(parent: daemon.main, name: "test").performAndWait { context in
      let page = try selection.page(context, daemon.engine.unfinished, limit: limit, offset: offset)
      return (try page.ids.map { try context.job(with: $0).id }, page.total)
    }
  }

  @Test("Jobs accepted between two times are found, the first included, whatever states are asked for")
  func times() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    for id in ["a", "b"] { try await fixture.run(#"{"type": "noop", "id": "\#(id)"}"#) }
    for id in ["c", "d"] {
      _ = try fixture.submit(#"{"type": "noop", "id": "\#(id)", "notBefore": "2199-01-01T00:00:00Z"}"#)
    }
    func accepted(_ id: String) throws -> Date { try #require(try fixture.record(id) { $0.createdAt }) }
    for states in [[], [.completed, .scheduled]] as [Set<JobState>] {
      let middle = JobSelection(states: states, since: try accepted("b"), until: try accepted("d"))
      #expect(try page(middle, fixture) == (["c", "b"], 2))
      #expect(try page(middle, fixture, limit: 1, offset: 1) == (["b"], 2))
    }
    #expect(try page(JobSelection(states: [.scheduled], since: accepted("d")), fixture) == (["d"], 1))
    #expect(try page(JobSelection(states: [.scheduled], until: accepted("d")), fixture) == (["c"], 1))
    #expect(try page(JobSelection(states: [.completed], until: accepted("b")), fixture) == (["a"], 1))
    #expect(try page(JobSelection(since: .distantFuture), fixture) == ([], 0))
    let mine = JobSelection(submitter: getuid(), since: try accepted("b"))
    #expect(try page(mine, fixture) == (["d", "c", "b"], 3))
    #expect(try page(JobSelection(states: [.scheduled], submitter: getuid() + 1), fixture) == ([], 0))
    try await fixture.stop()
  }

  @Test("Jobs are counted by state, whichever states are asked for, and whether or not their records must be looked at")
  func counts() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    try await fixture.run(#"{"batch": "b", "jobs": [{"type": "noop"}, {"type": "noop", "id": "n"}]}"#)
    try await fixture.run(#"{"type": "noop", "id": "other"}"#)
    let due = #""notBefore": "2199-01-01T00:00:00Z""#
    _ = try fixture.submit(
      #"{"batch": "b", "jobs": [{"type": "noop", \#(due)}, {"type": "noop", \#(due), "id": "off"}]}"#)
    #expect(try await fixture.perform(.cancel(reason: "no"), on: "off") == .done)
    @Sendable func counts(_ selection: JobSelection) throws -> [JobState: Int] {
      let daemon = fixture.daemon
      return try ManagedObjectContext(parent: daemon.main, name: "test").performAndWait { context in
        try selection.counts(context, daemon.engine.unfinished)
      }
    }
    let batch: [JobState: Int] = [.completed: 2, .scheduled: 1, .cancelled: 1]
    try await fixture.waitUntil { try counts(JobSelection(batch: "b")) == batch }
    #expect(try counts(JobSelection(states: [.running], batch: "b")) == batch)
    #expect(try counts(JobSelection(batch: "b", since: .distantPast)) == batch)
    #expect(try counts(JobSelection(batch: "none")) == [:])
    #expect(try counts(JobSelection(submitter: getuid() + 1)) == [:])
    try await fixture.stop()
  }
}
