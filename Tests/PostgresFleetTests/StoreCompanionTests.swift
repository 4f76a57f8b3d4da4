import Foundation
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// Saves of a host's store that carry the ledger's part.
@Suite("A save with the ledger's part", .enabled(if: PostgresCluster.isAvailable()))
struct StoreCompanionTests {
  private let fixture: FleetFixture
  private let ledger: PostgresLedger
  private let coordinator: PersistentStoreCoordinator
  private let runs: [Run]

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
    _ = try ledger.perform(.lead(after: 0, silence: 3_500, Receipt(host: 2, slot: 2, number: 1)))
    _ = try ledger.perform(.round(LeadRound(floor: 0, runs: runs), Receipt(host: 2, slot: 2, number: 2)))
    coordinator = PersistentStoreCoordinator(model: fixture.model)
    try coordinator.open(.postgresql(url: fixture.database.url))
  }

  private func receipt(_ number: Int64) -> Receipt { Receipt(host: 1, slot: 0, number: number) }

  private func companion(ending count: Int, _ number: Int64) -> CompanionStatements {
    fixture.fleet.companion(ending: runs[..<count].map { EndedRun(run: $0, event: .succeeded) }, receipt(number))
  }

  private func takeOver() throws {
    try fixture.run("UPDATE _beat SET seen = seen - interval '10 s' WHERE host = 1")
    _ = try ledger.perform(.fence(host: 1, silence: 3_500, Receipt(host: 2, slot: 2, number: 3)))
  }

  @Test("is one transaction with the effects, and the lead hears of it")
  func together() async throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    let statements = companion(ending: 2, 1)
    try await context.perform { context in
      let job = try #require(try context.fetch(FetchRequest<Job>(ids: ["job1"])).first)
      job.currentState = .completed
      Image(context: context).title = "an effect"
      try context.save(with: statements)
    }
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
    #expect(try fixture.run(#"SELECT "state" || _version FROM "Job" WHERE _key = 1"#) == "completed2")
    #expect(try ledger.perform(.outcome(of: receipt(1))).isOutcomeWritten == true)
    let news = try ledger.perform(.round(LeadRound(floor: 0), Receipt(host: 2, slot: 2, number: 3))).news ?? []
    guard case .ended(let ended)? = news.first, news.count == 1 else {
      Issue.record("the lead is not told")
      return
    }
    #expect(ended.map(\.run) == runs)
  }

  @Test("is made without changes too, and then ends the runs alone")
  func empty() async throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    let statements = companion(ending: 2, 1)
    try await context.perform { try $0.save(with: statements) }
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
  }

  @Test("of a fenced host writes nothing, and the context keeps its changes")
  func fenced() async throws {
    try takeOver()
    let context = ManagedObjectContext(coordinator: coordinator)
    let statements = companion(ending: 1, 1)
    let code = try await context.perform { context -> StoreError.Code? in
      Image(context: context).title = "too late"
      do { try context.save(with: statements) } catch let error as StoreError { return error.code }
      return nil
    }
    #expect(code == .stale)
    #expect(code.flatMap(LedgerError.init) == .stale)
    #expect(await context.perform { $0.hasChanges })
    #expect(try fixture.run(#"SELECT count(*) FROM "Image""#) == "0")
  }

  @Test("that ends a run which is not there writes nothing")
  func contradiction() throws {
    let other = EndedRun(run: Run(job: runs[0].job, host: 1, attempt: 9), event: .succeeded)
    let statements = fixture.fleet.companion(ending: [other], receipt(1))
    let error = #expect(throws: StoreError.self) {
      try fixture.store.save(StoreSaveRequest([], companion: statements))
    }
    #expect(error?.code == .contradiction)
    #expect(try ledger.perform(.outcome(of: receipt(1))).isOutcomeWritten == false)
  }

  @Test("admits the jobs that are in it")
  func admission() async throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    let (fleet, receipt) = (fixture.fleet, receipt(1))
    let key = try await context.perform { context in
      let job = Job(context: context)
      job.id = "new"
      job.type = "work"
      job.createdAt = Date()
      var new = FleetJob(id: job.objectID, name: "new", specification: JobSpecification(type: "work"), created: 0)
      new = FleetJob(id: new.id, name: new.name, specification: new.specification, place: "gpu", created: 0)
      try context.save(with: fleet.companion(admitting: [new], receipt))
      return job.objectID.key
    }
    let news = try ledger.perform(.round(LeadRound(floor: 0), Receipt(host: 2, slot: 2, number: 3))).news ?? []
    guard case .admitted(let jobs, _)? = news.first else {
      Issue.record("the lead is not told")
      return
    }
    #expect(jobs.map(\.id.key) == [key] && jobs.first?.place == "gpu" && jobs.first?.name == "new")
  }

  @Test("is not needed for the fence: every other transaction of the store has one")
  func standingFence() throws {
    let image = try #require(fixture.model.entitiesByName["Image"])
    fixture.store.accompanyTransactions(by: fixture.fleet.fence(of: 1))
    func write(_ key: Int64) throws -> [StoreConflict] {
      let id = ManagedObjectID(key: key, entity: image, coordinatorOrdinal: FleetFixture.ordinal)
      let set = ChangeSet([RowChange(.insert, id, row: Row(RowLayout(image)), base: nil)])
      return try fixture.store.transaction(from: TransactionOrigin()) { try $0.write(set) }
    }
    let isWritten = try write(1).isEmpty
    #expect(isWritten)
    try takeOver()
    for attempt in 0..<2 {
      let error = #expect(throws: StoreError.self) {
        if attempt == 0 { _ = try write(2) } else { _ = try fixture.store.save(StoreSaveRequest([])) }
      }
      // The first is on a session that the takeover has ended.
      #expect(error?.code == (attempt == 0 ? .unavailable : .fenced))
    }
    #expect(try fixture.run(#"SELECT count(*) FROM "Image""#) == "1")
  }

  @Test("keeps a takeover waiting while its transaction is open, behind a pooler")
  func openTransaction() throws {
    let pooled = try fixture.connection(named: "pooled")
    try pooled.pipeline([Request("BEGIN"), LedgerStatements.standingFence(1)])
    let other = try fixture.connection(named: "other")
    try other.control("SET lock_timeout = '50ms'")
    let error = #expect(throws: StoreError.self) {
      try other.pipeline([Request("DELETE FROM _session WHERE host = 1")])
    }
    #expect(error?.code == .busy)
    try pooled.control("COMMIT")
    #expect(throws: Never.self) { try other.pipeline([Request("DELETE FROM _session WHERE host = 1")]) }
  }

  @Test("is refused by stores that can't carry it")
  func otherStores() async throws {
    let coordinator = PersistentStoreCoordinator(model: fixture.model)
    try coordinator.open(.inMemory)
    let context = ManagedObjectContext(coordinator: coordinator)
    let statements = companion(ending: 1, 1)
    let code = try await context.perform { context -> StoreError.Code? in
      do { try context.save(with: statements) } catch let error as StoreError { return error.code }
      return nil
    }
    #expect(code == .unsupported)
  }
}
