import Foundation
import Jobs
import PostgresTesting
import Synchronization
import Testing

@testable import Fleet
@testable import ObjectGraph
@testable import PostgresFleet
@testable import PostgresStore

/// What a host's part in all transactions of its store makes of its saves.
@Suite("A save on a host of a fleet", .enabled(if: PostgresCluster.isAvailable()))
struct StoreParticipantTests {
  private let fixture: FleetFixture
  private let ledger: PostgresLedger
  private let coordinator: PersistentStoreCoordinator
  private let runs: [Run]
  private let recorded = Recorded()

  /// The jobs of which the host was told that their runs have ended.
  private final class Recorded: Sendable {
    private let jobs = Mutex<[Int64]>([])

    var keys: [Int64] { jobs.withLock { $0 } }

    func add(_ ended: [EndedRun]) { jobs.withLock { $0 += ended.map(\.run.job.key) } }
  }

  init() throws {
    fixture = try FleetFixture()
    ledger = try fixture.ledger("test", of: 2)
    for root in ["a", "b"] {
      _ = try ledger.perform(.join(FleetHost(root: root, slots: 2, types: ["work"], places: [])))
    }
    let job = fixture.job
    runs = (1...2).map {
      Run(job: ManagedObjectID(key: $0, entity: job, coordinatorOrdinal: FleetFixture.ordinal), host: 1, attempt: 1)
    }
    let jobs = runs.map {
      FleetJob(id: $0.job, name: "job\($0.job.key)", specification: JobSpecification(type: "work"), created: 0)
    }
    _ = try ledger.perform(.admit(jobs, Receipt(host: 1, slot: 1, number: 1)))
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), Receipt(host: 2, slot: 2, number: 1)))
    _ = try ledger.perform(.round(LeadRound(floor: 0, runs: runs), Receipt(host: 2, slot: 2, number: 2)))
    coordinator = PersistentStoreCoordinator(model: fixture.model)
    try coordinator.open(.postgresql(url: fixture.database.url))
    let store = try #require(try coordinator.openStore() as? PostgresStore)
    let recorded = recorded
    store.accompanyTransactions(by: try fixture.fleet.participant(1, spool: "a") { recorded.add($0) })
  }

  private func takeOver() throws {
    try fixture.run("UPDATE _beat SET seen = seen - interval '10 s' WHERE host = 1")
    _ = try ledger.perform(.fence(host: 1, silence: Silence(3_500), Receipt(host: 2, slot: 2, number: 3)))
  }

  /// Changes jobs in a context, and saves that.
  private func change(_ names: String..., body: @Sendable (Job) -> Void) async throws {
    try await ManagedObjectContext(coordinator: coordinator).perform { context in
      for job in try context.fetch(FetchRequest<Job>(ids: names)) { body(job) }
      Image(context: context).title = "an effect"
      try context.save()
    }
  }

  @Test("ends the runs of jobs whose states it changes, with their effects, and the lead hears of it")
  func together() async throws {
    try await change("job1", "job2") { ($0.currentState, $0.attempt) = (.completed, 1) }
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
    #expect(try fixture.run(#"SELECT "state" || _version FROM "Job" WHERE _key = 1"#) == "completed2")
    #expect(try fixture.run(#"SELECT count(*) FROM "Image""#) == "1")
    let outcome = try ledger.perform(.outcome(of: Receipt(host: 1, slot: -1, number: 1)))
    #expect(outcome.isOutcomeWritten == true)
    let news = try ledger.perform(.round(LeadRound(floor: 0), Receipt(host: 2, slot: 2, number: 3))).news ?? []
    guard case .ended(let ended)? = news.first, news.count == 1 else {
      Issue.record("the lead is not told")
      return
    }
    #expect(ended.map(\.run) == runs && recorded.keys == [1, 2])
  }

  /// Somebody who changes a job when a save is on disk, and nobody has noted that yet.
  private struct Interrupter: TransactionCompanion {
    let sessionName = "interrupter"
    let whenWritten: @Sendable () -> Void

    func opening() -> [Request] { [] }
    func closing(_ changes: [ChangeSet]) -> [Request] { [] }
    func isWritten(_ lost: StoreError) -> Bool { false }
    func noteWritten() { whenWritten() }
    func noteSaved() {}
  }

  /// The types of the first job, as a query and then a fault in a child context has them.
  private static func types(of id: ManagedObjectID, in root: ManagedObjectContext) throws -> [String] {
    let found = try ManagedObjectContext(parent: root).performAndWait { context in
      try context.fetch(FetchRequest<Job>(objectIDs: [id])).map(\.type)
    }
    return found + [try ManagedObjectContext(parent: root).performAndWait { try $0.job(with: id).type }]
  }

  /// Puts another specification in a job's place, as the lead does.
  private static func replace(in database: TestDatabase) throws {
    try database.run(#"UPDATE bobbin."Job" SET "type" = 'other', _version = _version + 1 WHERE _key = 1"#)
  }

  @Test("reports the ends of runs when contexts show them: the next attempt reads what the lead has written since")
  func replacedAtOnce() async throws {
    let store = try #require(try coordinator.openStore() as? PostgresStore)
    let root = ManagedObjectContext(coordinator: coordinator)
    let database = fixture.database
    let id = try await root.perform { try #require(try $0.fetch(FetchRequest<Job>(ids: ["job1"])).first).objectID }
    let read = Mutex<[Result<[String], any Error>]>([])
    store.accompanyTransactions(
      by: try fixture.fleet.participant(1, spool: "a") { _ in
        let types = Result {
          try Self.replace(in: database)
          return try Self.types(of: id, in: root)
        }
        read.withLock { $0.append(types) }
      })
    try await root.perform { root in
      let job = try #require(try root.fetch(FetchRequest<Job>(ids: ["job1"])).first)
      (job.currentState, job.attempt) = (.held, 1)
      try root.save()
    }
    #expect(try read.withLock { try $0.map { try $0.get() } } == [["other", "other"]])
    #expect(try Self.types(of: id, in: root) == ["other", "other"])
  }

  @Test("puts nothing in the place of a newer row that was read before it was noted")
  func newerRow() async throws {
    let store = try #require(try coordinator.openStore() as? PostgresStore)
    let root = ManagedObjectContext(coordinator: coordinator)
    let (database, coordinator) = (fixture.database, coordinator)
    let id = try await root.perform { try #require(try $0.fetch(FetchRequest<Job>(ids: ["job1"])).first).objectID }
    let failures = Mutex<[any Error]>([])
    store.accompanyTransactions(
      by: Interrupter {
        do {
          try Self.replace(in: database)
          let start = coordinator.sharedRows.readStart
          let row = try #require(try store.read { try $0.rows(for: [id]) }[0])
          coordinator.sharedRows.keep([(id, row)], start)
        } catch { failures.withLock { $0.append(error) } }
      })
    try await root.perform { root in
      let job = try #require(try root.fetch(FetchRequest<Job>(ids: ["job1"])).first)
      (job.currentState, job.attempt) = (.held, 1)
      try root.save()
    }
    #expect(failures.withLock { $0.isEmpty })
    #expect(try ManagedObjectContext(parent: root).performAndWait { try $0.job(with: id).type } == "other")
  }

  @Test("keeps what a job was told that fails at that moment, for its next attempt")
  func told() async throws {
    try fixture.run("UPDATE _run SET stop = 'cancelled', reason = 'enough'")
    try await change("job1") {
      ($0.currentState, $0.attempt, $0.dueAt) = (.retryable, 1, Date())
      $0.setPendingStop(nil)
    }
    try await change("job2") { ($0.currentState, $0.attempt) = (.completed, 1) }
    let told = try fixture.run(#"SELECT string_agg(concat(id, "stopEvent", "stopReason"), ',' ORDER BY id) FROM "Job""#)
    #expect(told == "job1cancelledenough,job2")
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
  }

  @Test("ends the run of a job that was held already, and that an operator goes on to hold", arguments: [true, false])
  func heldAgain(isReverted: Bool) async throws {
    try fixture.run(#"UPDATE "Job" SET "state" = 'held', "cursor" = 'half', _version = _version + 1 WHERE _key = 1"#)
    try fixture.run("UPDATE _run SET stop = 'interrupted', reason = 'replaced' WHERE job = 1")
    try await change("job1") { job in
      (job.currentState, job.attempt) = (.held, 1)
      job.maxAttempts += 1
      if isReverted { job.cursor = nil }
    }
    #expect(try fixture.run("SELECT count(*) FROM _run WHERE job = 1") == "0")
    #expect(try fixture.run(#"SELECT concat("stopEvent", "stopReason") FROM "Job" WHERE _key = 1"#)?.isEmpty != false)
    let news = try ledger.perform(.round(LeadRound(floor: 0), Receipt(host: 2, slot: 2, number: 3))).news ?? []
    guard case .ended(let ended)? = news.first, news.count == 1 else {
      Issue.record("the lead is not told")
      return
    }
    #expect(ended.map(\.event) == [.held] && ended.map(\.isReverted) == [isReverted])
  }

  @Test("that can't be made of a job which is to be replaced leaves it held for that, and for nobody else")
  func heldInVain() async throws {
    try fixture.run("UPDATE _run SET stop = 'interrupted', reason = 'replaced'")
    try fixture.run(#"UPDATE "Job" SET "state" = 'held', _version = _version + 1 WHERE _key = 2"#)
    let ended = runs.map { EndedRun(run: $0, event: .held) }
    _ = try ledger.perform(.flush(ended, Receipt(host: 1, slot: 1, number: 2)))
    let told = try fixture.run(#"SELECT string_agg(concat(id, "stopEvent", "stopReason"), ',' ORDER BY id) FROM "Job""#)
    #expect(told == "job1heldreplaced,job2")
  }

  @Test("leaves runs of jobs alone of which it changes something else")
  func otherChanges() async throws {
    try await change("job1") { $0.cursor = "half" }
    #expect(try fixture.run("SELECT count(*) FROM _run") == "2")
    #expect(recorded.keys.isEmpty)
  }

  @Test("tells the spools whose jobs have ended, its own too: until the files are gone the records stay")
  func spools() async throws {
    try fixture.run(#"UPDATE "Job" SET "spool" = CASE _key WHEN 1 THEN 'a' ELSE 'b' END"#)
    try await change("job1", "job2") { ($0.currentState, $0.attempt) = (.completed, 1) }
    #expect(
      try fixture.run("SELECT string_agg(spool || ' ' || jobs::text, ', ' ORDER BY spool) FROM _outcome")
        == "a {1}, b {2}")
  }

  /// Inserts an object and saves twice; answers the error of each save.
  private func saveTwice(_ context: ManagedObjectContext) async -> [StoreError.Code?] {
    await context.perform { context in
      Image(context: context).title = "too late"
      return (0..<2).map { _ in
        do { try context.save() } catch { return (error as? StoreError)?.code }
        return nil
      }
    }
  }

  @Test("of a fenced host writes nothing, and the context keeps its changes")
  func fenced() async throws {
    try takeOver()
    let context = ManagedObjectContext(coordinator: coordinator)
    let codes = await saveTwice(context)
    #expect(codes == [.fenced, .fenced])
    #expect(await context.perform { $0.hasChanges })
    #expect(try fixture.run(#"SELECT count(*) FROM "Image""#) == "0")
  }

  @Test("that is under way when a takeover ends its session writes nothing, then or later")
  func endedSession() async throws {
    try await change("none") { _ in }
    try takeOver()
    let codes = await saveTwice(ManagedObjectContext(coordinator: coordinator))
    // The first is on the session that was ended.
    #expect(codes == [.unavailable, .fenced])
    #expect(try fixture.run(#"SELECT count(*) FROM "Image""#) == "1")
  }

  @Test("that ends a run which is not there writes nothing")
  func contradiction() async throws {
    try fixture.run("UPDATE _run SET attempt = 9")
    let error = await #expect(throws: StoreError.self) {
      try await change("job1") { ($0.currentState, $0.attempt) = (.completed, 1) }
    }
    #expect(error?.code == .contradiction)
    #expect(try fixture.run(#"SELECT "state" FROM "Job" WHERE _key = 1"#) == "available")
    #expect(recorded.keys.isEmpty)
  }

  @Test("is fenced in whatever transaction: one past the contexts is, too")
  func everyTransaction() throws {
    let image = try #require(fixture.model.entitiesByName["Image"])
    let store = try #require(try coordinator.openStore() as? PostgresStore)
    try takeOver()
    let error = #expect(throws: StoreError.self) {
      let id = ManagedObjectID(key: 1, entity: image, coordinatorOrdinal: FleetFixture.ordinal)
      let set = ChangeSet([RowChange(.insert, id, row: Row(RowLayout(image)), base: nil)])
      _ = try store.transaction(from: TransactionOrigin()) { try $0.write(set) }
    }
    #expect(error?.code == .fenced)
    #expect(try fixture.run(#"SELECT count(*) FROM "Image""#) == "0")
  }
}
