import Foundation
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
    try await fixture.stop()
  }
}
