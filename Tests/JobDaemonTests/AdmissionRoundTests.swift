import Configuration
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("A round of admission")
struct AdmissionRoundTests {
  private let context: ManagedObjectContext
  private let scheduler = Scheduler(agingStep: .seconds(60))

  init() throws {
    let coordinator = PersistentStoreCoordinator(model: try BuiltInModel.merged(withModelsIn: "/nonexistent"))
    try coordinator.open(.inMemory)
    context = ManagedObjectContext(coordinator: coordinator, name: "round")
  }

  /// A job that a round knows of.
  private struct Known {
    let id: String
    let state: JobState
    var user: Int64 = 7
  }

  /// A file with its jobs; all their facts are in the specifications.
  private struct File {
    let name: FileName
    let jobs: [JobSpecification]
    var user: UInt32 = 7
    var isOver = false
  }

  /// A file's fate, without objects.
  struct Fate: Equatable, Sendable {
    var started: [String] = []
    var finished: [String: String] = [:]
    var repeated = 0
    var failures: [String] = []
    var blockers: [Int] = []
    var refusal: String?
  }

  private static func job(
    _ id: String, after: [String] = [], afterAny: [String] = [], unique: String? = nil
  ) -> JobSpecification {
    var job = JobSpecification(type: "noop", id: id)
    (job.after, job.afterAny, job.unique) = (after, afterAny, unique)
    return job
  }

  /// Admits files in one round.
  ///
  /// - Returns: the fate of each file, and the number of jobs that were inserted.
  private func admit(_ files: [File], known: [Known] = []) throws -> (fates: [Fate], inserted: Int) {
    try context.performAndWait { [scheduler] context in
      var entries = try KnownJobs([], context, scheduler: scheduler)
      for one in known {
        let object = Job(context: context)
        (object.id, object.currentState) = (one.id, one.state)
        entries[one.id] = KnownJobs.Entry(
          objectID: object.objectID, state: one.state, failure: one.state.isFailure ? "because" : nil,
          origin: KnownJobs.Origin(submitter: one.user, type: "noop", arguments: "{}"))
      }
      var round = AdmissionRound(
        known: entries, scheduler: scheduler,
        policy: JobPolicy(configuration: ConfigurationBox(Configuration())), handlers: HandlerTable([NoopHandler()]))
      let fates = try files.map { file in
        let data = Data(#"{"type": "noop"}"#.utf8)
        var candidate = AdmissionCandidate(
          file: ClaimedFile(name: file.name, data: data, submitter: file.user), contents: try JobFile(data))
        candidate.isOver = file.isOver
        do throws(AdmissionRefusal) {
          let admitted = try round.admit(candidate, file.jobs, in: context)
          #expect(admitted.ids == file.jobs.map { $0.id ?? "" })
          return Fate(
            started: admitted.jobs.map(\.name),
            finished: Dictionary(uniqueKeysWithValues: admitted.finished.map { ($0.id, $0.failure ?? "") }),
            repeated: admitted.duplicatesOfLive.count, failures: admitted.earlierFailures,
            blockers: admitted.jobs.map(\.blockers.count))
        } catch {
          return Fate(refusal: error.reason)
        }
      }
      return (fates, context.insertedObjects.count - known.count)
    }
  }

  @Test("A later file knows the jobs of an earlier one, which is not saved yet")
  func laterFile() throws {
    let (fates, inserted) = try admit([
      File(name: "a", jobs: [Self.job("x")]),
      File(name: "b", jobs: [Self.job("x"), Self.job("y", after: ["x"])]),
    ])
    #expect(fates == [Fate(started: ["x"], blockers: [0]), Fate(started: ["y"], repeated: 1, blockers: [1])])
    #expect(inserted == 2)
  }

  @Test("A known job is not inserted: unfinished, it is waited for; failed, its failure is told again")
  func known() throws {
    let (fates, inserted) = try admit(
      [File(name: "a", jobs: ["done", "bad", "worse", "gone", "live"].map { Self.job($0) })],
      known: [
        Known(id: "done", state: .completed), Known(id: "bad", state: .discarded),
        Known(id: "worse", state: .quarantined), Known(id: "gone", state: .cancelled),
        Known(id: "live", state: .running),
      ])
    #expect(fates == [Fate(repeated: 1, failures: ["bad: because", "worse: because"])])
    #expect(inserted == 0)
  }

  @Test("A file with the ID of another user's job is refused before any of its jobs is inserted")
  func origin() throws {
    let (fates, inserted) = try admit(
      [File(name: "a", jobs: [Self.job("new"), Self.job("theirs")]), File(name: "b", jobs: [Self.job("new")])],
      known: [Known(id: "theirs", state: .completed, user: 8)])
    #expect(
      fates == [
        Fate(refusal: #"the ID "theirs" is that of another user's job; choose another one"#),
        Fate(started: ["new"], blockers: [0]),
      ])
    #expect(inserted == 1)
  }

  @Test("Of a file whose jobs are final, unknown ones are not run; with none that is known it is another file")
  func over() throws {
    let jobs = [Self.job("a"), Self.job("b")]
    let again = try admit(
      [File(name: "f", jobs: jobs, isOver: true)], known: [Known(id: "a", state: .available)])
    #expect(again.fates == [Fate()] && again.inserted == 0)
    let other = try admit([File(name: "f", jobs: [Self.job("c"), Self.job("d")], isOver: true)])
    #expect(other.fates == [Fate(started: ["c", "d"], blockers: [0, 0])])
  }

  @Test("A unique key belongs to the first job of a round, or to one of the schedule; others are cancelled")
  func unique() throws {
    var scheduled = Self.job("earlier", unique: "u")
    scheduled.queue = "q"
    let id = context.performAndWait { Job(context: $0).objectID }
    scheduler.add([NewJob(id: id, file: nil, specification: scheduled, name: "earlier")])
    let (fates, _) = try admit([
      File(name: "a", jobs: [Self.job("x", unique: "u"), Self.job("y", unique: "v")]),
      File(name: "b", jobs: [Self.job("z", unique: "v")]),
    ])
    let reason = { (key: String) in "another unfinished job has the unique key \"\(key)\"" }
    #expect(
      fates == [
        Fate(started: ["y"], finished: ["x": reason("u")], blockers: [0]), Fate(finished: ["z": reason("v")]),
      ])
  }

  @Test(
    "A job waits for what it names, as far as that is not final; a failure cancels it, unless any end will do",
    arguments: [
      (JobState.running, Fate(started: ["strict", "lenient"], blockers: [1, 1])),
      (.completed, Fate(started: ["strict", "lenient"], blockers: [0, 0])),
      (.quarantined, Fate(started: ["strict", "lenient"], blockers: [1, 0])),
      (
        .discarded,
        Fate(
          started: ["lenient"],
          finished: ["strict": #"the job "first", which must be completed before it, is discarded"#], blockers: [0])
      ),
    ])
  func dependencies(state: JobState, fate: Fate) throws {
    let jobs = [Self.job("strict", after: ["first"]), Self.job("lenient", afterAny: ["first"])]
    let (fates, _) = try admit([File(name: "a", jobs: jobs)], known: [Known(id: "first", state: state)])
    #expect(fates == [fate])
  }

  @Test("A job waits by name for one that is not known")
  func unknown() throws {
    let (fates, _) = try admit([File(name: "a", jobs: [Self.job("x", after: ["later"], afterAny: ["never"])])])
    #expect(fates == [Fate(started: ["x"], blockers: [2])])
  }

  @Test("What is cancelled in a round cancels what needs it later in the round")
  func chain() throws {
    let (fates, _) = try admit(
      [
        File(name: "a", jobs: [Self.job("x", after: ["bad"])]), File(name: "b", jobs: [Self.job("y", after: ["x"])]),
      ], known: [Known(id: "bad", state: .discarded)])
    #expect(
      fates == [
        Fate(finished: ["x": #"the job "bad", which must be completed before it, is discarded"#]),
        Fate(finished: ["y": #"the job "x", which must be completed before it, is cancelled"#]),
      ])
  }
}
