import Configuration
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
      main: fixture.main, handlers: HandlerTable([NoopHandler()]), scheduler: fixture.scheduler,
      policy: JobPolicy(configuration: ConfigurationBox(Configuration())))
  }

  private func candidate(_ name: FileName, _ text: String) throws -> Admission.Candidate {
    let file = ClaimedFile(name: name, data: Data(text.utf8), submitter: 7)
    return Admission.Candidate(file: file, contents: try admission.parse(file))
  }

  /// Admits files and puts their jobs into the schedule, as the intake does.
  private func admit(_ candidates: Admission.Candidate...) throws -> [Admission.Admitted] {
    let admitted = try admission.admit(candidates)
    fixture.scheduler.add(admitted.flatMap(\.jobs))
    return admitted
  }

  private func noop(_ id: String) -> String { "{\"type\": \"noop\", \"id\": \"\(id)\"}" }

  @Test("Jobs are inserted once, whether an ID repeats in one batch or in a later one")
  func repeated() throws {
    let first = try admit(try candidate("a", noop("x")), try candidate("b", noop("x")))
    #expect(first.map { $0.jobs.map(\.name) } == [["x"], []])
    #expect(first.map(\.duplicatesOfLive.count) == [0, 1])
    let second = try admit(try candidate("c", "{\"jobs\": [\(noop("x")), \(noop("y"))]}"))
    #expect(second.map { $0.jobs.map(\.name) } == [["y"]])
    #expect(second.map(\.duplicatesOfLive) == [[first[0].jobs[0].id]])
    #expect(second.map(\.ids) == [["x", "y"]])
    let count = try fixture.main.performAndWait { try $0.count(for: FetchRequest<Job>()) }
    #expect(count == 2)
    #expect(fixture.scheduler.read { schedule, _ in schedule.count } == 2)
  }

  @Test("A job that is over is not run again; its failure is told again")
  func over() async throws {
    _ = try fixture.finishedJob("done")
    let child = ManagedObjectContext(parent: fixture.main, name: "failing")
    try await child.perform { context in
      let job = Job(context: context)
      job.id = "bad"
      job.failure = "for a reason"
      job.currentState = .discarded
      try context.save()
    }
    await fixture.merger.mergeAndWait()
    let admitted = try admit(try candidate("a", "{\"jobs\": [\(noop("done")), \(noop("bad"))]}"))
    #expect(admitted.map { $0.jobs.count } == [0])
    #expect(admitted.map(\.objectIDs.count) == [2])
    #expect(admitted.map(\.earlierFailures) == [["bad: for a reason"]])
  }
}
