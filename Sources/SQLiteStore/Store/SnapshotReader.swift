import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface
import Synchronization

/// Reads one state of the store through one connection.
struct SnapshotReader: StoreReader {
  let connection: Connection
  let store: SQLiteStore

  func row(for id: ManagedObjectID) throws(StoreError) -> StoredRow? { try store.rows.row(for: id, connection) }

  func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [StoredRow?] { try store.rows.rows(for: ids, connection) }

  func find(_ batch: RowBatch, key: [Property]) throws(StoreError) -> [ManagedObjectID?] {
    try BatchFinder(batch, key: key, table: store.schema.table(of: batch.entity), model: store.schema.model)
      .run(connection, names: store.names)
  }

  func links(of id: ManagedObjectID, _ property: Property, limit: Int?) throws(StoreError) -> [Link] {
    guard let table = property.joinTable, let destination = property.destination else { return [] }
    var links: [Link] = []
    let model = store.schema.model
    let sql = store.schema.linkTables[table.index].selectSQL(property, isLimited: limit != nil)
    let bindings = [.integer(id.key)] + (limit.map { [SQLBinding.integer(Int64($0))] } ?? [])
    try connection.run(sql, { $0.bind(bindings) }) { statement in
      let entity = destination.isInHierarchy ? model.entitiesByName[statement.text(2)] : nil
      let other = ManagedObjectID(
        key: statement.integer(0), entity: entity ?? destination, coordinatorOrdinal: id.coordinatorOrdinal)
      links.append(Link(destination: other, order: statement.isNull(1) ? nil : statement.integer(1)))
      return true
    }
    return links
  }

  func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
    try connection.endingEarly(query.isCancellable) { try run(query, body) }
  }

  private func run(_ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
    let select = try SelectGenerator(query).statement()
    let table = store.schema.table(of: query.entity)
    var family = FamilyDecoder(table, columns: select.columns, schema: store.schema, files: store.files)
    let ordinal = query.coordinatorOrdinal
    let statement = try connection.prepare(select.segment.text)
    defer { connection.recycle(statement) }
    statement.bind(select.segment.bindings)
    let start = connection.started()
    var rowCount = 0
    defer { connection.finished(select.segment.text, start, rowCount: rowCount) }
    func pass(_ decoder: RowDecoder) throws -> Bool {
      rowCount += 1
      let row = query.wantsRows ? decoder.row(statement, ordinal: ordinal) : nil
      return try body(decoder.id(statement, ordinal: ordinal), row)
    }
    // Most tables have one entity: nothing is looked for per row then, not even who holds the decoder.
    if let single = family.single {
      while try statement.stepToRow(of: connection) { if try !pass(single) { return } }
      return
    }
    while try statement.stepToRow(of: connection) {
      // A row of an entity that the model has no more is not of a queried one.
      if let decoder = family.decoder(statement), try !pass(decoder) { return }
    }
  }

  func count(_ query: StoreQuery) throws -> Int {
    let segment = try SelectGenerator(query).countQuery().segment
    return try connection.endingEarly(query.isCancellable) {
      try connection.first(segment.text, { $0.bind(segment.bindings) }, read: { Int($0.integer(0)) }) ?? 0
    }
  }
}

/// A state of the store that outlives a call: a read transaction that stays open on a connection of its own.
///
/// SQLite can't move what was written since into the database while it is held, so the `-wal` file grows.
final class HeldSnapshot: StoreSnapshot, @unchecked Sendable {
  // @unchecked: the connection is used under the lock only.

  private let connection: Connection
  private let store: SQLiteStore
  /// A body that reads may read again.
  private let lock = NSRecursiveLock()

  init(_ connection: Connection, of store: SQLiteStore) {
    self.connection = connection
    self.store = store
  }

  deinit { store.endReading(connection) }

  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(SnapshotReader(connection: connection, store: store))
  }
}

/// Connections for reading: opened when needed, kept for the next reader, never waited for.
final class ReaderPool: Sendable {
  private struct State {
    var idle: [Connection] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  private let open: @Sendable () throws(StoreError) -> Connection
  /// More connections than this are closed after use.
  private static let idleLimit = 8

  init(open: @escaping @Sendable () throws(StoreError) -> Connection) { self.open = open }

  /// A connection for the caller alone; return it with ``returnConnection(_:)``.
  func acquire() throws(StoreError) -> Connection {
    let (isClosed, connection) = state.withLock { ($0.isClosed, $0.idle.popLast()) }
    if isClosed { throw StoreError(.noStore, "the store is closed") }
    return if let connection { connection } else { try open() }
  }

  func returnConnection(_ connection: Connection) {
    state.withLock { state in
      if !state.isClosed, state.idle.count < Self.idleLimit { state.idle.append(connection) }
    }
  }

  /// Closes idle connections now and the others when they come back.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.idle = []
    }
  }
}
