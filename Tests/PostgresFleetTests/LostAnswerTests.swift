import Foundation
import Jobs
import ObjectGraph
import PostgresTesting
import Synchronization
import SystemSupport
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// Connections that break at a commit: whether it was written is found out, and written once it is.
///
/// One after the other: some block a thread for seconds, and on a small machine there are two.
@Suite("A lost answer to a commit", .enabled(if: PostgresCluster.isAvailable()), .serialized)
struct LostAnswerTests {
  private let fixture: FleetFixture
  private let proxy: CuttingProxy
  private let direct: PostgresLedger
  private let url: String
  private let run: Run

  init() throws {
    fixture = try FleetFixture()
    proxy = try CuttingProxy(to: fixture.database.socketFolder)
    let host = proxy.socketFolder.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    url = "postgresql://postgres@\(host)/\(fixture.database.name)"
    direct = try fixture.ledger("direct", of: 1)
    _ = try direct.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: [])))
    let id = ManagedObjectID(key: 1, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal)
    run = Run(job: id, host: 1, attempt: 1)
    let job = FleetJob(id: id, name: "j", specification: JobSpecification(type: "work"), created: 0)
    _ = try direct.perform(.admit([job], Receipt(host: 1, slot: 1, number: 1)))
    _ = try direct.perform(.lead(after: 0, silence: Silence(3_500), Receipt(host: 1, slot: 2, number: 1)))
    _ = try direct.perform(.round(LeadRound(floor: 0, runs: [run]), Receipt(host: 1, slot: 2, number: 2)))
  }

  private var ended: [EndedRun] { [EndedRun(run: run, event: .succeeded)] }
  private func receipt(_ slot: Int, _ number: Int64 = 1) -> Receipt { Receipt(host: 1, slot: slot, number: number) }

  private func ledger() throws -> PostgresLedger {
    let fleet = try FleetDatabase(
      url, job: fixture.job, coordinatorOrdinal: FleetFixture.ordinal, release: LedgerRelease("1.0"))
    return try fleet.ledger("proxied", of: 1)
  }

  /// Makes a request whose commit is cut off, asks for its outcome, and makes it again if it was not written.
  private func check(_ request: LedgerRequest, _ receipt: Receipt, _ cut: CuttingProxy.Cut) throws {
    let ledger = try ledger()
    // The connection is there, so that it breaks with the request.
    _ = try ledger.perform(.readRuns(host: 1))
    proxy.cutNext(cut)
    #expect(throws: LedgerError.unknown) { try ledger.perform(request) }
    #expect(proxy.hasCut)
    #expect(try ledger.perform(.outcome(of: receipt)).isOutcomeWritten == (cut == .afterCommit))
    if cut == .beforeCommit { #expect(throws: Never.self) { try ledger.perform(request) } }
    #expect(throws: LedgerError.stale) { try ledger.perform(request) }
    #expect(try ledger.perform(.outcome(of: receipt)).isOutcomeWritten == true)
  }

  @Test("of a flush is found out, and nothing is written twice", arguments: CuttingProxy.Cut.allCases)
  func flush(_ cut: CuttingProxy.Cut) throws {
    try check(.flush(ended, receipt(0)), receipt(0), cut)
    #expect(try fixture.run(#"SELECT "state" || "attempt" FROM "Job""#) == "completed1")
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
    #expect(try fixture.run("SELECT count(*) FROM _inbox WHERE kind = 'ended'") == "1")
  }

  @Test("of an admission is found out, and nothing is written twice", arguments: CuttingProxy.Cut.allCases)
  func admission(_ cut: CuttingProxy.Cut) throws {
    let id = ManagedObjectID(key: 2, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal)
    let job = FleetJob(id: id, name: "k", specification: JobSpecification(type: "work"), created: 0)
    try check(.admit([job], receipt(1, 2)), receipt(1, 2), cut)
    #expect(try fixture.run(#"SELECT count(*) FROM "Job""#) == "2")
    #expect(try fixture.run("SELECT count(*) FROM _inbox WHERE kind = 'admitted'") == "1")
  }

  @Test("of a lead's round is found out, and nothing is written twice", arguments: CuttingProxy.Cut.allCases)
  func round(_ cut: CuttingProxy.Cut) throws {
    let id = ManagedObjectID(key: 7, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal)
    let round = LeadRound(floor: 0, runs: [Run(job: id, host: 1, attempt: 1)])
    try check(.round(round, receipt(2, 3)), receipt(2, 3), cut)
    #expect(try fixture.run("SELECT count(*) FROM _run") == "2")
  }

  /// A context on the host's store, whose transactions are fenced.
  private func rootContext(_ record: @escaping @Sendable ([EndedRun]) -> Void) throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(model: fixture.model)
    try coordinator.open(.postgresql(url: url))
    let store = try #require(try coordinator.openStore() as? PostgresStore)
    store.accompanyTransactions(by: try fixture.fleet.participant(1, spool: "a") { record($0) })
    return ManagedObjectContext(coordinator: coordinator)
  }

  @Test("of an import's rows is found out, and none is written twice", arguments: CuttingProxy.Cut.allCases)
  func rows(_ cut: CuttingProxy.Cut) async throws {
    let context = try rootContext { _ in }
    let proxy = proxy
    try await context.perform { context in
      let entity = try #require(context.coordinator.model.entitiesByName["Image"])
      let width = try #require(entity.property(named: "width"))
      func write(_ count: Int, _ context: isolated ManagedObjectContext) throws {
        let widths = RowBatch.Column(slot: width.slot, values: .integers((1...Int64(count)).map { $0 }))
        _ = try context.executePacked { try $0.write([widths], count: count, of: entity) }
      }
      try write(1, context)
      proxy.cutNext(cut)
      if cut == .beforeCommit {
        let error = #expect(throws: StoreError.self) { try write(100, context) }
        #expect(error?.code == .unavailable)
      }
      try write(100, context)
      try write(1, context)
    }
    #expect(proxy.hasCut)
    #expect(try fixture.run(#"SELECT count(*) || ' ' || sum("width") FROM "Image""#) == "102 5052")
    #expect(try fixture.run("SELECT number FROM _session WHERE slot = -1") == "3")
  }

  @Test("of a save is found out before anything else is written", arguments: CuttingProxy.Cut.allCases)
  func save(_ cut: CuttingProxy.Cut) async throws {
    let recorded = Mutex<[Run]>([])
    let context = try rootContext { ended in recorded.withLock { $0 += ended.map(\.run) } }
    let proxy = proxy
    try await context.perform { context in
      let job = try #require(try context.fetch(FetchRequest<Job>(ids: ["j"])).first)
      (job.currentState, job.attempt) = (.completed, 1)
      proxy.cutNext(cut)
      if cut == .beforeCommit {
        let error = #expect(throws: StoreError.self) { try context.save() }
        #expect(error?.code == .unavailable)
        let keepsChanges = context.hasChanges
        #expect(keepsChanges)
      }
      try context.save()
      let hasChanges = context.hasChanges
      #expect(!hasChanges)
      Image(context: context).title = "the next transaction"
      try context.save()
    }
    #expect(proxy.hasCut)
    #expect(recorded.withLock { $0.map(\.job.key) } == [1])
    #expect(try fixture.run(#"SELECT "state" || "attempt" || _version FROM "Job""#) == "completed12")
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
    #expect(try fixture.run(#"SELECT count(*) FROM "Image""#) == "1")
    #expect(try fixture.run("SELECT count(*) FROM _inbox WHERE kind = 'ended'") == "1")
    #expect(try fixture.run("SELECT number FROM _session WHERE slot = -1") == "2")
  }

  @Test(
    "of a save is waited for however long the server is away, and some seconds only by a host that is to end",
    arguments: [false, true])
  func longOutage(isEnding: Bool) throws {
    let coordinator = PersistentStoreCoordinator(model: fixture.model)
    try coordinator.open(.postgresql(url: url))
    let store = try #require(try coordinator.openStore() as? PostgresStore)
    let other = try CuttingProxy(to: fixture.database.socketFolder)
    let folder = other.socketFolder.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    let fleet = try FleetDatabase(
      "postgresql://postgres@\(folder)/\(fixture.database.name)", job: fixture.job,
      coordinatorOrdinal: FleetFixture.ordinal, release: LedgerRelease("1.0"))
    let participant = try fleet.participant(1, spool: "a") { _ in }
    store.accompanyTransactions(by: participant)
    let isOver = Latch()
    let code = Mutex<StoreError.Code?>(nil)
    let context = ManagedObjectContext(coordinator: coordinator)
    let proxy = proxy
    context.perform { context in
      defer { isOver.open() }
      do {
        let job = try #require(try context.fetch(FetchRequest<Job>(ids: ["j"])).first)
        (job.currentState, job.attempt) = (.completed, 1)
        other.isolate()
        proxy.cutNext(.afterCommit)
        try context.save()
      } catch { code.withLock { $0 = (error as? StoreError)?.code } }
    }
    // Longer than a host that is to end asks.
    #expect(!isOver.wait(for: .seconds(12)))
    #expect(participant.searchCount > 0)
    if isEnding { participant.limitSearches() } else { other.restore() }
    #expect(isOver.wait(for: .seconds(30)))
    #expect(code.withLock { $0 } == (isEnding ? .inputOutput : nil))
    #expect(try fixture.run(#"SELECT "state" || "attempt" FROM "Job""#) == "completed1")
    other.restore()
  }

  @Test("is no lost answer where there is no server: nothing was written")
  func noServer() throws {
    let ledger = try ledger()
    let role = "ALTER ROLE postgres IN DATABASE \(fixture.database.name)"
    // Sessions that can't write are not taken for the primary's.
    try fixture.database.run("\(role) SET default_transaction_read_only = on")
    #expect(throws: LedgerError.unavailable) { try ledger.perform(.flush(ended, receipt(0))) }
    #expect(throws: LedgerError.unavailable) { try ledger.perform(.beat(host: 1)) }
    try fixture.database.run("BEGIN READ WRITE; \(role) RESET default_transaction_read_only; COMMIT")
    #expect(try ledger.perform(.flush(ended, receipt(0))).isWritten)
  }
}
