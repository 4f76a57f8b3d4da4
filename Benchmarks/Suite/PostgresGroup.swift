import ObjectGraph
import PostgresTesting

/// Rows into a PostgreSQL server of its own, whose commits are on disk when they are answered, against plain C.
///
/// Making what is written from texts is part of our time and of the peer's. Server and client share the machine.
struct PostgresGroup: BenchGroup {
  static let name = "postgres"

  private let options: Options
  private let workplace: Workplace
  private let values = PersonValues()
  private var rows: Int { options.isQuick ? 100_000 : 1_000_000 }
  private var fewerRows: Int { rows / 5 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let server = try PostgresCluster(in: workplace.serverPath, isDurable: true)
    let peer = Program(try await workplace.peer("postgres_rows", "-I/usr/include/postgresql", "-lpq"))
    var (imported, copied, updated, staged): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    var (objects, overlapped, inserted): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<options.pairs {
      imported.append(try await rate(server, rows) { try await $0.fill(rows: rows, values) })
      copied.append(try await rate(of: peer, server, "copy", rows))
      let (ours, theirs) = try await updates(server, peer)
      updated.append(ours)
      staged.append(theirs)
      objects.append(try await objectRate(server, overlaps: false))
      overlapped.append(try await objectRate(server, overlaps: true))
      inserted.append(try await rate(of: peer, server, "insert", fewerRows))
    }
    return [
      figure("import of packed rows", imported, copied, "C, COPY", target: 0.8),
      figure("update of packed rows by a key", updated, staged, "C, staged COPY", target: 0.6),
      figure("objects, each save waited for", objects, inserted, "C, pipelined INSERT", target: 0.6),
      figure("objects, saves overlap", overlapped, inserted, "C, pipelined INSERT", target: 0.6),
    ]
  }

  private func figure(
    _ name: String, _ ours: [Double], _ peer: [Double], _ peerName: String, target: Double
  ) -> Figure {
    Figure(
      name: "postgres." + name, unit: "rows/s", ours: ours, peer: peer, peerName: peerName, target: .atLeast(target))
  }

  private func store(_ database: TestDatabase) throws -> PeopleStore {
    var options = PostgresStoreOptions()
    options.noticesOtherWriters = false
    return try PeopleStore(.postgresql(url: database.url, options: options), path: database.name)
  }

  private func rate(
    _ server: PostgresCluster, _ rows: Int, _ write: (PeopleStore) async throws -> Void
  ) async throws -> Double {
    let database = try server.newDatabase()
    let store = try store(database)
    try settle(database)
    let start = ContinuousClock.now
    try await write(store)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try await store.check(rows: rows)
    try store.coordinator.close()
    return Double(rows) / seconds
  }

  private func rate(
    of peer: Program, _ server: PostgresCluster, _ kind: String, _ rows: Int
  ) async throws -> Double {
    let database = try server.newDatabase()
    try settle(database)
    return Double(rows) / (try await peer.measure(database.url, kind, "\(rows)", "\(PeopleStore.rowsPerSave)"))
  }

  private func objectRate(_ server: PostgresCluster, overlaps: Bool) async throws -> Double {
    let database = try server.newDatabase()
    let store = try store(database)
    try settle(database)
    return Double(fewerRows) / (try await store.insertObjects(fewerRows, values, overlaps: overlaps))
  }

  /// Other values for rows that are there, both sides in one database.
  private func updates(_ server: PostgresCluster, _ peer: Program) async throws -> (ours: Double, peer: Double) {
    let database = try server.newDatabase()
    let store = try store(database)
    try await write(store, version: 0)
    let perSave = "\(PeopleStore.rowsPerSave)"
    _ = try await peer.measure(database.url, "fill", "\(fewerRows)", perSave)
    try settle(database)
    let start = ContinuousClock.now
    try await write(store, version: 7)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    try store.coordinator.close()
    try settle(database)
    let theirs = try await peer.measure(database.url, "upsert", "\(fewerRows)", perSave)
    return (Double(fewerRows) / seconds, Double(fewerRows) / theirs)
  }

  /// Members by their number, a transaction for each save.
  private func write(_ store: PeopleStore, version: Int) async throws {
    let context = ManagedObjectContext(coordinator: store.coordinator, name: "importer")
    for range in PeopleStore.saves(of: fewerRows) {
      let count = try await context.perform { [values] context in
        try context.executePacked { transaction in
          let (entity, columns) = values.members(range, version: version, in: transaction.coordinator.model)
          let key = entity.property(named: "number").map { [$0] } ?? []
          let result = try transaction.write(columns, count: range.count, of: entity, key: key, onConflict: .update)
          return version == 0 ? result.insertedCount : result.updates.count
        }.result
      }
      guard count == range.count else { throw BenchError("\(count) of \(range.count) members were written") }
    }
  }

  /// Brings what is behind us to disk, so that nobody pays for somebody else.
  private func settle(_ database: TestDatabase) throws {
    try database.run("CHECKPOINT")
    workplace.syncDisks()
  }
}
