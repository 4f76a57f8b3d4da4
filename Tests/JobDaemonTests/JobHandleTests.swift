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
      ("sent", "submitted-1000-=cover.json.5F00.0A1B.json"), ("other", "submitted-1000-=my-cover.json.5F01.0A1C.json"),
      ("firing", "submitted-0-tick@2026-11-23T03:00:00Z.json"),
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
      ("cover.json", "sent"), ("cover", "sent"), ("my-cover.json", "other"), ("json", nil), ("1000", nil),
      ("tick@2026-11-23T03:00:00Z", nil),
    ])
  func meanings(_ handle: String, _ id: String?) throws { #expect(try job(handle) == id) }

  @Test("is refused where several jobs have it, and some of them are named")
  func ambiguous() throws {
    #expect(throws: JobHandle.Ambiguous(handle: "abc", ids: ["abc-1", "abc-2"])) { _ = try job("abc") }
    #expect(throws: JobHandle.Ambiguous(handle: "many.json", ids: ["abc-1", "abc-2"])) { _ = try job("many.json") }
  }

  @Test(
    "has commands done to that job, if the daemon has made its ID; the beginning of another one may be a removed job")
  func commands() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    let made = "day-4b0c19b6cddaeb5f"
    for id in ["night-4b0c19b6cddaeb51", "night-4b0c19b6cddaeb52", made, "order-10", made + "0"] {
      _ = try fixture.submit(#"{"type": "noop", "id": "\#(id)", "notBefore": "2100-01-01T00:00:00Z"}"#)
    }
    let several = try await fixture.perform(.hold, on: "day")
    #expect(several == .ambiguous([made, made + "0"]))
    #expect(try await fixture.perform(.hold, on: made) == .done)
    #expect(try fixture.record(made) { $0.currentState } == .held)
    let ambiguous = JobControl.Reply.ambiguous(["night-4b0c19b6cddaeb51", "night-4b0c19b6cddaeb52"])
    #expect(try await fixture.perform(.hold, on: "night") == ambiguous)
    #expect(try await fixture.perform(.hold, on: "night-4b0c19b6cddaeb52") == .done)
    #expect(try await fixture.perform(.hold, on: "order-1") == .unknown)
    #expect(try await fixture.perform(.hold, on: "order-10") == .done)
    #expect(try await fixture.perform(.hold, on: "dusk") == .unknown)
    _ = try fixture.submit(##"{"type": "noop", "id": "x-0123456789abcdef#a", "notBefore": "2100-01-01T00:00:00Z"}"##)
    #expect(try await fixture.perform(.hold, on: "x-01") == .done)
  }
}
