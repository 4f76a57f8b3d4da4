import ObjectGraph
import PostgresStore
import PostgresTesting
import SQLGeneration
import Testing

@testable import StoreCopy

/// A store that daemons use while it is compared: the server keeps what they delete for as long as a snapshot lasts.
@Suite("A store in PostgreSQL that is compared while it is in use", .enabled(if: PostgresCluster.isAvailable()))
struct BusyStoreTests {
  private let fixture: CopyFixture
  private let source: StoreAddress

  init() throws {
    fixture = try CopyFixture()
    source = fixture.sqlite("first")
    try fixture.with(source, try Museum.model(), tracksHistory: true) { Museum.fill($0) }
    _ = try StoreCopy(from: source, to: fixture.postgres).run()
  }

  @Test("is read in snapshots that are no older than its table")
  func snapshotPerTable() throws {
    var last: String?
    var tables = 0
    let compared = try StoreComparison.run(source, fixture.postgres) { report in
      if let last {
        let old = try fixture.database.run(
          """
          SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'bobbinctl'
          AND xact_start < '\(last)'
          """)
        #expect(old == "0", "\(report.table)")
        tables += 1
      }
      last = try fixture.database.run("SELECT clock_timestamp()")
    }
    #expect(tables > 5 && compared.areEqual)
  }

  @Test("is equal to its copy however many snapshots there were, large values and history too")
  func manySnapshots() throws {
    let busy = try PostgresCopySource(url: fixture.database.url, isAlone: false, snapshotLife: .zero)
    #expect(try StoreComparison(source.source(isAlone: false), busy) { _ in }.run().areEqual)
  }

  @Test("goes on behind the last row when a snapshot has grown old", arguments: [Duration.zero, .seconds(3_600)])
  func renewal(life: Duration) throws {
    let busy = try PostgresCopySource(url: fixture.database.url, isAlone: false, snapshotLife: life)
    let box = try #require(busy.store.tables.first { $0.name == "Box" })
    let reader = try busy.rows(of: box, after: nil)
    var rows = CopiedRows()
    try reader.read(into: &rows, byteLimit: 1)
    var keys = [rows.key(0, of: box).first]
    try fixture.database.run(
      #"SET search_path = bobbin; DELETE FROM "Box" WHERE _key = 2; INSERT INTO "Box" (_key, _version) VALUES (77, 1)"#)
    repeat {
      rows.removeAll()
      try reader.read(into: &rows, byteLimit: 1)
      keys += (0..<rows.count).map { rows.key($0, of: box).first }
    } while !rows.isEmpty
    #expect(keys == (life == .zero ? [1] + Array(3...10) + [77] : Array(1...10)))
  }

  @Test("tells which daemons use it, for those who find differences")
  func users() throws {
    #expect(try fixture.postgres.users() == [] && source.users() == [])
    try fixture.database.run(
      """
      SET search_path = bobbin; CREATE TABLE _host (number bigint, root text, state text);
      CREATE TABLE _beat (host bigint, seen timestamptz);
      INSERT INTO _host VALUES (1, 'ash:/spool', 'alive'); INSERT INTO _beat VALUES (1, now())
      """)
    #expect(try fixture.postgres.users() == ["ash:/spool"])
  }
}
