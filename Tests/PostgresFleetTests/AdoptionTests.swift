import Foundation
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// The first start of a fleet on a store that was copied from a host that had it for itself.
@Suite("The founder of a fleet", .enabled(if: PostgresCluster.isAvailable()))
struct AdoptionTests {
  private let database: TestDatabase
  private let model: ManagedObjectModel
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    database = try PostgresCluster.makeDatabase()
    model = try BuiltInModel.merged(withModelsIn: "/nonexistent")
    coordinator = PersistentStoreCoordinator(model: model)
    try coordinator.open(.postgresql(url: database.url))
    try ManagedObjectContext(coordinator: coordinator).performAndWait { context in
      for (id, state) in [
        ("a", JobState.available), ("b", .running), ("c", .running), ("d", .completed), ("e", .held), ("f", .running),
      ] {
        let job = Job(context: context)
        (job.id, job.type, job.file, job.attempt, job.maxAttempts) = (id, "noop", "\(id).json", 1, 1)
        job.currentState = state
        if id == "c" || id == "f" { job.setPendingStop(.cancelled, "not wanted") }
        // What its checkpoints have saved is reverted before it is called cancelled.
        if id == "f" { job.cursor = "half" }
      }
      let pause = Pause(context: context)
      (pause.kind, pause.name) = ("queue", "slow")
      for (name, age) in [("counts", 30.0), ("is over", 90.0)] {
        let start = RateStart(context: context)
        (start.kind, start.name) = ("key", name)
        (start.startedAt, start.until) = (Date() - age, Date() - age + 60)
      }
      try context.save()
    }
  }

  /// The files of the unfinished jobs, and another one.
  private let claimed: Set<String> = ["a.json", "b.json", "c.json", "e.json", "f.json", "z.json"]

  @discardableResult
  private func join(_ spool: String, files: Set<String>) throws -> FleetDatabase {
    try FleetDatabase(
      database.url, job: try #require(model.entitiesByName["Job"]), coordinatorOrdinal: 1,
      release: LedgerRelease("1.0"), founder: FleetFounder(spool: spool) { files.sorted() })
  }

  private func jobs() throws -> String {
    try database.output(
      #"SELECT id, state, spool, place, maxAttempts, failure, finishedAt IS NULL FROM Job ORDER BY id"#)
  }

  @Test(
    "takes over unfinished jobs, pauses and starts of rates, once: jobs belong to its spool, and lost attempts are made up for"
  )
  func adoption() throws {
    try join("one:/spool", files: claimed)
    let expected = """
      a|available|one:/spool|one:/spool|1||t
      b|available|one:/spool|one:/spool|2||t
      c|cancelled|one:/spool|one:/spool|2|not wanted|f
      d|completed|||1||t
      e|held|one:/spool|one:/spool|1||t
      f|available|one:/spool|one:/spool|2||t
      """
    #expect(try jobs() == expected)
    #expect(try database.output("SELECT kind, name, (SELECT count(*) FROM Pause) FROM _pause") == "queue|slow|0")
    let starts = """
      SELECT kind, name, count, now() - started BETWEEN '30 s' AND '50 s', until - started BETWEEN '59 s' AND '61 s', \
      (SELECT count(*) FROM RateStart) FROM _start
      """
    #expect(try database.output(starts) == "key|counts|1|t|t|0")
    try join("two:/spool", files: [])
    #expect(try jobs() == expected)
  }

  @Test("has to place the jobs that are bound to it, also at another start, until it has done so")
  func placing() throws {
    #expect(try join("one:/spool", files: claimed).hasBoundJobs)
    #expect(try !join("two:/spool", files: []).hasBoundJobs)
    let again = try join("one:/spool", files: claimed)
    #expect(again.hasBoundJobs)
    let keys = try database.output("SELECT _key FROM Job WHERE id IN ('a', 'b') ORDER BY id").split(separator: "\n")
    let jobs = try keys.map { key in
      ManagedObjectID(
        key: try #require(Int64(key)), entity: try #require(model.entitiesByName["Job"]), coordinatorOrdinal: 1)
    }
    try again.setPlaces([(jobs[0], nil)], isLast: false)
    #expect(try join("one:/spool", files: claimed).hasBoundJobs)
    try again.setPlaces([(jobs[1], "disk")], isLast: true)
    #expect(try !join("one:/spool", files: claimed).hasBoundJobs)
    #expect(try database.output("SELECT id, place FROM Job WHERE id IN ('a', 'b') ORDER BY id") == "a|\nb|disk")
  }

  @Test("is refused where another host has the files of these jobs, and nothing is changed")
  func stranger() throws {
    let error = #expect(throws: StoreError.self) { try join("two:/spool", files: ["z.json"]) }
    #expect(error?.message.contains("start the daemon of the host that the store comes from first") == true)
    #expect(try database.output("SELECT to_regclass('_host') IS NULL, count(*) FROM Job WHERE spool IS NULL") == "t|6")
    try join("one:/spool", files: claimed)
    #expect(try database.output("SELECT count(*) FROM Job WHERE spool IS NULL") == "1")
  }

  @Test("is refused where some of the files are missing, which are told, and nothing is changed")
  func incomplete() throws {
    let error = #expect(throws: StoreError.self) { try join("one:/spool", files: ["a.json", "c.json", "e.json"]) }
    #expect(
      error?.message.contains(
        "unfinished jobs of 5 files, of which this host's folder cur/ does not have 2: b.json, f.json;")
        == true)
    #expect(try database.output("SELECT to_regclass('_host') IS NULL") == "t")
    try join("one:/spool", files: claimed)
  }
}
