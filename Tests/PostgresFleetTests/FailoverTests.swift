import Glibc
import Jobs
import ObjectGraph
import PostgresTesting
import StoreInterface
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// A real standby that takes the primary's place, or is not there.
@Suite("A ledger with a standby", .enabled(if: PostgresCluster.isAvailable()), .serialized)
struct FailoverTests {
  private let servers: ReplicatedCluster
  private let fleet: FleetDatabase
  private let model: ManagedObjectModel

  init() throws {
    servers = try ReplicatedCluster()
    let url = servers.url(of: "postgres")
    model = try BuiltInModel.merged(withModelsIn: "/nonexistent")
    let job = try #require(model.entitiesByName["Job"])
    try PostgresStore(url, model: model, coordinatorOrdinal: FleetFixture.ordinal).close()
    fleet = try Self.fleet(at: url, job)
  }

  private static func fleet(at url: String, _ job: Entity) throws -> FleetDatabase {
    try FleetDatabase(url, job: job, coordinatorOrdinal: FleetFixture.ordinal, release: LedgerRelease("1.0"))
  }

  private func receipt(_ number: Int64) -> Receipt { Receipt(host: 1, slot: 1, number: number) }

  private func id(_ key: Int64) throws -> ManagedObjectID {
    let entity = try #require(model.entitiesByName["Job"])
    return ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: FleetFixture.ordinal)
  }

  /// An admission of a job with that key.
  private func admission(_ key: Int64) throws -> LedgerRequest {
    let job = FleetJob(id: try id(key), name: "job\(key)", specification: JobSpecification(type: "work"), created: 0)
    return .admit([job], receipt(key))
  }

  private func join(_ ledger: PostgresLedger) throws -> LedgerServer {
    _ = try ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: [])))
    return try #require(try ledger.perform(.beat(host: 1)).beat).server
  }

  /// The server that answers a beat, after one that finds out that the old one is gone.
  private func otherServer(_ ledger: PostgresLedger) throws -> LedgerServer {
    #expect(throws: LedgerError.unavailable) { try ledger.perform(.beat(host: 1)) }
    return try #require(try ledger.perform(.beat(host: 1)).beat).server
  }

  private func control(_ sql: String) throws {
    let connection = try Connection(Connection.Settings(servers.url(of: "postgres"), options: .init()))
    defer { connection.close() }
    try connection.control(sql)
  }

  @Test("loses nothing in a failover, and tells that it is another server")
  func failover() throws {
    let ledger = try fleet.ledger("a", of: 1)
    let before = try join(ledger)
    #expect(before.isReplicated)
    #expect(try ledger.overview().isReplicated)
    _ = try ledger.perform(try admission(1))
    try servers.kill(0)
    try servers.promote(1)
    #expect(try otherServer(ledger) == LedgerServer(timeline: before.timeline + 1, isReplicated: true))
    try servers.rebuild(0)
    #expect(try ledger.perform(.outcome(of: receipt(1))).isOutcomeWritten == true)
  }

  @Test("that nobody waited for may lack what was answered: a host that goes by it is fenced")
  func lostTail() throws {
    let ledger = try fleet.ledger("a", of: 1)
    _ = try join(ledger)
    _ = try ledger.perform(try admission(1))
    try control("ALTER DATABASE postgres SET synchronous_commit = local")
    let local = try fleet.ledger("b", of: 1)
    let before = try #require(try local.perform(.beat(host: 1)).beat).server
    #expect(!before.isReplicated)
    #expect(try !local.overview().isReplicated)
    try servers.kill(1)
    for key in 2...3 { _ = try local.perform(try admission(Int64(key))) }
    try servers.kill(0)
    try servers.start(1)
    try servers.promote(1)
    #expect(try otherServer(local).timeline == before.timeline + 1)
    #expect(throws: LedgerError.stale) { try local.perform(try admission(4)) }
    #expect(throws: LedgerError.fenced) { try local.perform(.outcome(of: receipt(4))) }
    // What one host could lose only in its answer is found out as ever.
    #expect(try local.perform(.outcome(of: receipt(2))).isOutcomeWritten == false)
  }

  @Test("tells how far that is; what only receives the log is no standby, and a plain role may see neither")
  func standbys() throws {
    func log(as role: String) throws -> LedgerLog {
      let url = servers.url(of: "postgres").replacing("postgres@", with: "\(role)@")
      let connection = try Connection(Connection.Settings(url, options: .init()))
      defer { connection.close() }
      return LedgerTransaction.log(try connection.pipeline([LedgerStatements.log])[0])
    }
    try control("CREATE ROLE plain LOGIN")
    let alone = try log(as: "postgres")
    #expect(alone.standbyCount == 1 && !alone.isHidden)
    #expect(try #require(alone.followedTo) <= alone.position && alone.position > 0)
    let folder = try TemporaryDirectory()
    let receiver = try ChildProcess.start(
      ChildLaunch(
        executable: try PostgresCluster.binaries() + "/pg_receivewal",
        arguments: ["-h", servers.socketFolder(0), "-U", "postgres", "-D", folder.path], environment: [:],
        descriptors: [:]))
    defer { try? receiver.killGroup(SIGKILL) }
    try control(
      """
      DO $$ BEGIN FOR n IN 1..1000 LOOP PERFORM pg_stat_clear_snapshot(); PERFORM pg_sleep(0.02); \
      IF (SELECT count(*) FROM pg_stat_replication) = 2 THEN RETURN; END IF; END LOOP; \
      RAISE 'nobody receives the log'; END $$
      """)
    let both = try log(as: "postgres")
    #expect(both.standbyCount == 1 && both.followedTo != nil)
    let hidden = try log(as: "plain")
    #expect(hidden.isHidden && hidden.standbyCount == 2 && hidden.followedTo == nil)
  }

  @Test(
    "that a pooler leads to for a while is a database that is away, also for who only reads",
    .enabled(if: PostgresCluster.hasPooler()))
  func misledPooler() throws {
    let url = ReplicatedCluster.url(of: "postgres", socketFolders: [servers.poolerFolder], isPooled: true)
    let pooled = try Self.fleet(at: url, try #require(model.entitiesByName["Job"]))
    let ledger = try pooled.ledger("a", of: 1)
    _ = try join(ledger)
    _ = try ledger.perform(try admission(1))
    let store = try PostgresStore(url, model: model, coordinatorOrdinal: FleetFixture.ordinal)
    let jobs = try [1, 2].map { try id($0) }
    #expect(try store.read { try $0.rows(for: jobs).map { $0 == nil } } == [false, true])
    try servers.lead(to: 1)
    #expect(throws: LedgerError.unavailable) { try ledger.perform(.readRuns(host: 1)) }
    #expect(throws: LedgerError.unavailable) { try ledger.perform(.beat(host: 1)) }
    #expect(throws: LedgerError.unknown) { try ledger.perform(try admission(2)) }
    #expect(throws: LedgerError.unavailable) { try ledger.perform(.outcome(of: receipt(2))) }
    #expect(#expect(throws: StoreError.self) { try store.read { try $0.rows(for: jobs) } }?.code == .unavailable)
    try servers.lead(to: 0)
    #expect(try ledger.perform(.outcome(of: receipt(2))).isOutcomeWritten == false)
    _ = try ledger.perform(try admission(2))
    #expect(try store.read { try $0.rows(for: jobs).allSatisfy { $0 != nil } })
    try store.close()
  }

  @Test(
    "behind a pooler that forgets the settings of connections is refused until the address says so",
    .enabled(if: PostgresCluster.hasPooler()))
  func forgetfulPooler() throws {
    let url = ReplicatedCluster.url(of: "postgres", socketFolders: [servers.poolerFolder])
    let error = #expect(throws: StoreError.self) {
      try PostgresStore(url, model: model, coordinatorOrdinal: FleetFixture.ordinal).close()
    }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("pooled=yes") == true, "\(error?.debugDescription ?? "")")
  }

  @Test("that is named and not there keeps commits waiting: that is told, and what was waited for is not lost")
  func absentStandby() throws {
    let ledger = try fleet.ledger("a", of: 1)
    _ = try join(ledger)
    try servers.kill(1)
    let errors = ErrorLog()
    let hasty = try fleet.ledger("b", of: 1, answerLimit: .seconds(5)) { errors.note($0) }
    #expect(throws: LedgerError.unknown) { try hasty.perform(try admission(1)) }
    #expect(errors.codes == [.inputOutput])
    // Beats wait for no standby, so that nobody is taken over for it; nor is anybody told that something is written.
    #expect(try hasty.perform(.beat(host: 1)).beat?.server.isReplicated == true)
    #expect(throws: LedgerError.unavailable) { try hasty.perform(.outcome(of: receipt(1))) }
    try servers.start(1)
    #expect(try ledger.perform(.outcome(of: receipt(1))).isOutcomeWritten == true)
  }
}

/// The errors that a ledger tells of.
private final class ErrorLog: Sendable {
  private let errors = Mutex<[StoreError]>([])

  var codes: [StoreError.Code] { errors.withLock { $0.map(\.code) } }

  func note(_ error: StoreError) { errors.withLock { $0.append(error) } }
}
