import Foundation
import Jobs
import ObjectGraph
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("Admission")
struct AdmissionTests {
  private let fixture: WriterFixture
  private let admission: Admission

  init() throws {
    fixture = try WriterFixture("FlushIntervalSec=1h")
    admission = Admission(
      main: fixture.main, handlers: ["noop": NoopHandler()], liveJobs: fixture.liveJobs, maxAttempts: 3)
  }

  private func candidate(_ name: FileName, _ text: String) throws -> Admission.Candidate {
    let file = ClaimedFile(name: name, data: Data(text.utf8), submitter: 7)
    return Admission.Candidate(file: file, jobs: try admission.parse(file))
  }

  private func noop(_ id: String) -> String { "{\"type\": \"noop\", \"id\": \"\(id)\"}" }

  @Test("Jobs are inserted once, whether an ID repeats in one batch or in a later one")
  func repeated() throws {
    let first = try admission.admit([try candidate("a", noop("x")), try candidate("b", noop("x"))])
    #expect(first.map { $0.ready.map(\.id) } == [["x"], []])
    #expect(first.map(\.duplicatesOfLive) == [[], ["x"]])
    let second = try admission.admit([try candidate("c", "{\"jobs\": [\(noop("x")), \(noop("y"))]}")])
    #expect(second.map { $0.ready.map(\.id) } == [["y"]])
    #expect(second.map(\.duplicatesOfLive) == [["x"]])
    #expect(second.map(\.ids) == [["x", "y"]])
    let count = try fixture.main.performAndWait { try $0.count(for: FetchRequest<Job>()) }
    #expect(count == 2)
    #expect(fixture.liveJobs.count == 2)
  }

  @Test("A job that is over is not run again; its failure is told again")
  func over() async throws {
    let job = try fixture.finishedJob("done")
    let child = ManagedObjectContext(parent: fixture.main, name: "failing")
    try await child.perform { context in
      let job = Job(context: context)
      job.id = "bad"
      job.failure = "for a reason"
      job.currentState = .discarded
      try context.save()
    }
    await fixture.merger.mergeAndWait()
    fixture.liveJobs.remove([job])
    let admitted = try admission.admit([try candidate("a", "{\"jobs\": [\(noop("done")), \(noop("bad"))]}")])
    #expect(admitted.map { $0.ready.count } == [0])
    #expect(admitted.map(\.finishedCount) == [2])
    #expect(admitted.map(\.earlierFailures) == [["bad: for a reason"]])
  }

  @Test("A job that the daemon's end interrupted goes on, and the attempt is made up for")
  func interrupted() async throws {
    let child = ManagedObjectContext(parent: fixture.main, name: "earlier run")
    try await child.perform { context in
      let job = Job(context: context)
      job.id = "x"
      job.maxAttempts = 3
      job.attempt = 2
      job.currentState = .running
      try context.save()
    }
    await fixture.merger.mergeAndWait()
    let admitted = try admission.admit([try candidate("a", noop("x"))])
    let job = try #require(admitted.first?.ready.first)
    #expect(job.attempt == 2)
    #expect(job.maxAttempts == 4)
    #expect(job.currentState == .available)
  }
}
