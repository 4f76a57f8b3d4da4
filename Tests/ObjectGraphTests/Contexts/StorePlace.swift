import Foundation
import ObjectGraph
import ObjectGraphTesting
import PostgresTesting
import TestSupport

/// A fresh place for a store of the kind that the test is for: a folder for SQLite's file, or a PostgreSQL database.
final class StorePlace: Sendable {
  let directory: TemporaryDirectory
  private let database: TestDatabase?

  /// - Parameter isInMemory: true if the store will be in memory, for which nothing is made.
  init(isInMemory: Bool = false) throws {
    directory = try TemporaryDirectory()
    database = SQLStore.current == .postgres && !isInMemory ? try PostgresCluster.makeDatabase() : nil
  }

  /// The path of SQLite's file.
  var storePath: String { directory.path("store.sqlite") }

  /// The store, with what a test wants to know of it; faults and the limit of waits are SQLite's.
  func description(
    statements: StatementRecorder? = nil, faults: StoreFaults? = nil, tracksHistory: Bool = false,
    noticesOtherWriters: Bool = true, busyTimeout: Int32 = 10_000
  ) -> PersistentStoreDescription {
    if let database {
      var options = PostgresStoreOptions()
      options.statementLog = statements?.record
      options.tracksHistory = tracksHistory
      options.noticesOtherWriters = noticesOtherWriters
      return .postgresql(url: database.url, options: options)
    }
    var options = SQLiteStoreOptions()
    options.statementLog = statements?.record
    options.failure = faults?.strike
    options.busyTimeout = busyTimeout
    options.tracksHistory = tracksHistory
    options.noticesOtherWriters = noticesOtherWriters
    return .sqlite(at: URL(fileURLWithPath: storePath), options: options)
  }

  /// What another process opens the store by.
  var address: String { database?.url ?? storePath }

  /// The store at an address.
  static func description(address: String) -> PersistentStoreDescription {
    address.hasPrefix("postgresql:") ? .postgresql(url: address) : .sqlite(at: URL(fileURLWithPath: address))
  }

  /// What another process reads, or writes: values of a row with bars between them, a line per row.
  func shell(_ sql: String) throws -> String { try database?.output(sql) ?? SQLiteShell(path: storePath).run(sql) }

  /// The values of a column, with commas between them.
  func list(_ sql: String) throws -> String { try shell(sql).replacing("\n", with: ",") }

  /// Lets each save fail that writes to a table, until it is called again with false.
  ///
  /// - Parameters:
  ///   - count: how many rows are written before one is refused.
  ///   - atCommit: true if it is the commit that fails, when all rows are written.
  func refuseWrites(
    _ refuses: Bool, to table: String, _ faults: StoreFaults, after count: Int = 0, atCommit: Bool = false
  ) throws {
    guard let database else {
      let step = atCommit ? FaultPoint.Step.commit : .insert
      return refuses ? faults.fail(with: .inputOutput, at: step, after: count, times: nil) : faults.clear()
    }
    let name = "bobbin.\"\(table)\""
    if !refuses { return _ = try database.run("DROP TRIGGER _refuse ON \(name); DROP SEQUENCE bobbin._writes") }
    let (kind, time) =
      atCommit
      ? ("CONSTRAINT TRIGGER _refuse AFTER INSERT OR UPDATE OR DELETE", "DEFERRABLE INITIALLY DEFERRED ")
      : ("TRIGGER _refuse BEFORE INSERT OR UPDATE", "")
    // What a sequence counts, no rollback takes back.
    try database.run(
      """
      CREATE SEQUENCE bobbin._writes; \
      CREATE OR REPLACE FUNCTION bobbin._refuse() RETURNS trigger LANGUAGE plpgsql AS \
      $$ BEGIN IF nextval('bobbin._writes') > \(count) THEN RAISE EXCEPTION USING ERRCODE = '58030'; END IF; \
      RETURN NEW; END $$; \
      CREATE \(kind) ON \(name) \(time)FOR EACH ROW EXECUTE FUNCTION bobbin._refuse()
      """)
  }
}
