import Fleet
import PostgresTesting
import StoreInterface
import Testing

@testable import PostgresFleet
@testable import PostgresStore

@Suite("A fleet behind a pooler", .enabled(if: PostgresCluster.hasPooler()))
struct PoolerTests {
  @Test("is refused until the address says so, with what to write")
  func refusal() throws {
    let fixture = try FleetFixture()
    let url = fixture.database.pooledURL.replacing("?pooled=yes", with: "")
    let error = #expect(throws: StoreError.self) {
      try FleetDatabase(url, job: fixture.job, coordinatorOrdinal: FleetFixture.ordinal, release: LedgerRelease("1.0"))
    }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("pooled=yes") == true)
  }

  @Test("leaves nothing in the connections that others are given")
  func settings() throws {
    let fixture = try FleetFixture(isPooled: true)
    let ledger = try fixture.ledger("beat", of: 1)
    _ = try ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: [])))
    _ = try ledger.perform(.beat(host: 1))
    let numbers =
      "SELECT string_agg(DISTINCT split_part(application_name, '/', 2), ' ') FROM pg_stat_activity "
      + "WHERE datname = current_database() AND application_name LIKE 'bobbin%'"
    #expect(try fixture.run(numbers) == "", "the number of a host stays with a connection")
    for name in ["search_path", "synchronous_commit", "enable_seqscan", "plan_cache_mode", "bobbin.library"] {
      let pooled = try fixture.database.runPooled("SELECT current_setting('\(name)', true)") ?? ""
      #expect(pooled == (try fixture.database.run("SELECT current_setting('\(name)', true)")) ?? "", "\(name)")
    }
  }

  @Test("ends the transaction that a silent host has open, whatever connection that has, and nobody else's")
  func takeover() throws {
    let fixture = try FleetFixture(isPooled: true)
    let session = try fixture.session("flush", of: 1)
    let silent = try fixture.connection(named: session)
    try silent.control("BEGIN")
    try silent.pipeline([Request("SELECT 1")])
    let other = try fixture.connection(named: try fixture.session("flush", of: 2))
    try other.control("BEGIN")
    try other.pipeline([Request("SELECT 1")])
    let open =
      "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND application_name = '\(session)'"
    #expect(try fixture.run(open) == "1")
    let ledger = try fixture.ledger()
    for root in ["a", "b"] {
      _ = try ledger.perform(.join(FleetHost(root: root, slots: 2, types: ["work"], places: [])))
    }
    _ = try ledger.perform(.bury(root: "a", host: 1))
    #expect(throws: StoreError.self) { try silent.pipeline([Request("SELECT 1")]) }
    #expect(try other.pipeline([Request("SELECT 1")])[0].integer(0, 0) == 1)
    #expect(try fixture.run(open) == "0")
  }
}
