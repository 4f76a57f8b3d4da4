import DaemonTesting
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import JobDaemon

/// The handles by which people name jobs.
@Suite("A job's handle") struct JobHandleTests {
  private let fixture: WriterFixture

  init() throws {
    fixture = try WriterFixture("FlushIntervalSec=1h")
    let jobs = [
      ("a", nil), ("ab", "one.json"), ("abc-1", "many.json"), ("abc-2", "many.json"), ("xyz", "ab"),
      ("long-4b0c19b6", "photo.json"), ("Ωmega-1", nil),
    ]
    try ManagedObjectContext(parent: fixture.main, name: "jobs").performAndWait { context in
      for (id, file) in jobs {
        let job = Job(context: context)
        (job.id, job.type, job.file) = (id, "noop", file)
      }
      try context.save()
    }
  }

  private func job(_ handle: String) throws -> String? {
    try ManagedObjectContext(parent: fixture.main, name: "handles").performAndWait { context in
      try JobHandle(text: handle).job(in: context)?.id
    }
  }

  @Test(
    "is its ID before all else, the beginning of its ID, or its file's name",
    arguments: [
      ("a", "a"), ("ab", "ab"), ("abc-2", "abc-2"), ("long", "long-4b0c19b6"), ("x", "xyz"),
      ("photo.json", "long-4b0c19b6"), ("one.json", "ab"), ("Ωm", "Ωmega-1"), ("b", nil), ("", nil),
      ("long-4b0c19b6-", nil), ("photo", nil), ("%", nil),
    ])
  func meanings(_ handle: String, _ id: String?) throws { #expect(try job(handle) == id) }

  @Test("is refused where several jobs have it, and some of them are named")
  func ambiguous() throws {
    #expect(throws: JobHandle.Ambiguous(handle: "abc", ids: ["abc-1", "abc-2"])) { _ = try job("abc") }
    #expect(throws: JobHandle.Ambiguous(handle: "many.json", ids: ["abc-1", "abc-2"])) { _ = try job("many.json") }
  }

  @Test("has commands done to that job, whose ID is told, and to none if several have it")
  func commands() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    for id in ["night-1", "night-2", "day-1"] {
      _ = try fixture.submit(#"{"type": "noop", "id": "\#(id)", "notBefore": "2100-01-01T00:00:00Z"}"#)
    }
    #expect(try await fixture.perform(.hold, on: "day") == .done)
    #expect(try fixture.record("day-1") { $0.currentState } == .held)
    #expect(try await fixture.perform(.hold, on: "night") == .ambiguous(["night-1", "night-2"]))
    #expect(try fixture.record("night-1") { $0.currentState } == .scheduled)
    #expect(try await fixture.perform(.hold, on: "dusk") == .unknown)
  }
}
