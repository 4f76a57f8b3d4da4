import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("Jobs known by their IDs")
struct KnownJobsTests {
  private let fixture: WriterFixture

  init() throws { fixture = try WriterFixture("FlushIntervalSec=1h") }

  private func insert(_ id: String, _ state: JobState, submitter: Int64 = 7) throws -> ManagedObjectID {
    try ManagedObjectContext(parent: fixture.main, name: "child").performAndWait { context in
      let job = Job(context: context)
      job.id = id
      job.type = "noop"
      job.currentState = state
      job.failure = state.isFailure ? "because" : nil
      job.submitter = submitter
      try context.save()
      return job.objectID
    }
  }

  private func known(_ ids: [String]) throws -> KnownJobs {
    try ManagedObjectContext(parent: fixture.main, name: "known").performAndWait { [fixture] context in
      try KnownJobs(ids, context, scheduler: fixture.scheduler)
    }
  }

  @Test("A known job is found with its state, failure and origin, an unknown one is not")
  func entries() throws {
    let done = try insert("done", .completed)
    let failed = try insert("failed", .discarded, submitter: -1)
    let known = try known(["done", "failed", "never", ""])
    #expect(known["done"]?.objectID == done)
    #expect(known["done"]?.state == .completed)
    #expect(known["done"]?.origin == KnownJobs.Origin(submitter: 7, type: "noop", arguments: "{}"))
    #expect(known["failed"]?.objectID == failed)
    #expect(known["failed"]?.failure == "because")
    #expect(known["failed"]?.origin == nil, "its record is from before submitters were recorded")
    #expect(known["never"] == nil && known[""] == nil)
  }

  @Test("More IDs than one fetch takes are all found")
  func many() throws {
    for number in 0..<3 { _ = try insert("j\(number * 1_200)", .completed) }
    let known = try known((0..<2_500).map { "j\($0)" })
    #expect((0..<2_500).filter { known["j\($0)"] != nil } == [0, 1_200, 2_400])
  }

  @Test("An ID of a schedule's firing is the daemon's own to give, unless the job is known")
  func firings() throws {
    _ = try insert("nightly@2026-11-24T03:00:00Z", .completed)
    let file = { (id: String, user: UInt32) in
      AdmissionCandidate(
        file: ClaimedFile(name: "a.json", data: Data(), submitter: user),
        contents: JobFile(lines: [JobSpecification(type: "noop", id: id)]))
    }
    let refusal = { (id: String, user: UInt32) throws -> String? in
      let candidate = file(id, user)
      let known = try self.known([id])
      do throws(AdmissionRefusal) {
        try known.check(candidate.contents.jobs, of: candidate)
        return nil
      } catch { return error.reason }
    }
    let next = "nightly@2026-11-25T03:00:00Z"
    for id in [next, next + ".1", next + "#pack"] {
      #expect(try refusal(id, 7)?.hasPrefix("the ID \"\(id)\" is kept for the schedule nightly; ") == true)
      #expect(try refusal(id, Credentials.effectiveUser) == nil)
    }
    #expect(try refusal("nightly@2026-11-24T03:00:00Z", 7) == nil)
    #expect(try refusal("mail@example.org", 7) == nil)
  }

  @Test("The jobs that a job waits for are those that are known")
  func named() throws {
    let first = try insert("a", .available)
    let second = try insert("b", .completed)
    fixture.scheduler.add([NewJob(id: first, file: nil, specification: JobSpecification(type: "noop"), name: "a")])
    var job = JobSpecification(type: "noop", id: "c")
    job.after = ["a", "never"]
    job.afterAny = ["b"]
    #expect(try known(["a", "b", "never"]).objects(namedBy: job) == [first, second])
  }
}
