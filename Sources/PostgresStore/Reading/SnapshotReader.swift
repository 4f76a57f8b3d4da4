import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface
import Synchronization

/// Reads one state of the store through one connection, whose transaction is open.
struct SnapshotReader: StoreReader {
  let connection: Connection
  let tables: StoredTables
  let cursors: CursorNames

  func row(for id: ManagedObjectID) throws(StoreError) -> StoredRow? { try tables.row(for: id, connection) }

  func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [StoredRow?] { try tables.rows(for: ids, connection) }

  func find(_ batch: RowBatch, key: [Property]) throws(StoreError) -> [ManagedObjectID?] {
    try BatchFinder(batch, key: key, in: tables).run(connection)
  }

  func links(of id: ManagedObjectID, _ property: Property, limit: Int?) throws(StoreError) -> [Link] {
    guard let table = property.joinTable, let destination = property.destination else { return [] }
    let model = tables.schema.model
    let result = try connection.query(
      tables.schema.linkTables[table.index].selectSQL(property, isLimited: limit != nil),
      [.integer(id.key)] + (limit.map { [.integer(Int64($0))] } ?? []))
    return (0..<result.rowCount).map { row in
      let entity = destination.isInHierarchy ? model.entitiesByName[result.text(row, 2)] : nil
      let other = ManagedObjectID(
        key: result.integer(row, 0), entity: entity ?? destination, coordinatorOrdinal: id.coordinatorOrdinal)
      return Link(destination: other, order: result.isNull(row, 1) ? nil : result.integer(row, 1))
    }
  }

  func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
    try connection.endingEarly(query.isCancellable) {
      try QueryRun(query, self).fetch(body)
    }
  }

  func count(_ query: StoreQuery) throws -> Int {
    try connection.endingEarly(query.isCancellable) {
      try QueryRun(query, self, isCount: true).count()
    }
  }
}

/// Lends readers of the store, each a state of its own on a connection of its own; a reader never waits for another.
final class ReaderPool: Sendable {
  private struct Pool {
    var idle: [Connection] = []
    var isClosed = false
  }
  private let pool = Mutex(Pool())
  private let tables: StoredTables
  private let open: @Sendable () throws(StoreError) -> Connection
  /// The connection whose open transaction all reads are part of, and the names of its cursors.
  private let enclosing: Connection?
  // One thread uses an enclosed store at a time, and its cursors' names.
  private nonisolated(unsafe) let cursors = CursorNames()
  /// More connections than this are closed after use: each is a process of the server.
  private static let idleLimit = 4

  /// One state for all statements of the transaction, from here on: BEGIN alone would leave the first of them to take it.
  private static let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1"

  /// - Parameter connection: one in whose open transaction everything is to be read.
  init(
    of tables: StoredTables, within connection: Connection? = nil,
    open: @escaping @Sendable () throws(StoreError) -> Connection
  ) {
    self.tables = tables
    self.open = open
    enclosing = connection
  }

  /// Calls the body with a reader that sees one state of the store.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    if let enclosing { return try body(SnapshotReader(connection: enclosing, tables: tables, cursors: cursors)) }
    let connection = try beginReading(Self.begin)
    defer { endReading(connection) }
    return try body(SnapshotReader(connection: connection, tables: tables, cursors: CursorNames()))
  }

  /// The state that the store has now, readable as long as it is held.
  func snapshot() throws(StoreError) -> HeldSnapshot {
    // A reader may think as long as it likes, which the server otherwise takes for a client that was forgotten.
    let begin = Self.begin + "; SET LOCAL idle_in_transaction_session_timeout = 0"
    return HeldSnapshot(try beginReading(begin), of: tables) { [self] in endReading($0) }
  }

  /// Closes idle connections now and the others when they come back.
  func close() {
    let idle = pool.withLock { pool in
      defer { pool = Pool(idle: [], isClosed: true) }
      return pool.idle
    }
    for connection in idle { connection.close() }
  }

  /// A connection for the caller alone, in a transaction that sees one state of the store.
  private func beginReading(_ begin: String) throws(StoreError) -> Connection {
    while true {
      let (isClosed, idle) = pool.withLock { ($0.isClosed, $0.idle.popLast()) }
      if isClosed { throw StoreError(.noStore, "the store is closed") }
      let connection = if let idle { idle } else { try open() }
      do throws(StoreError) {
        try connection.control(begin)
        return connection
      } catch {
        let isUsable = connection.isUsable
        endReading(connection)
        // One that lay idle may have lost its server long ago: a new one tells how things are now.
        if idle == nil || isUsable { throw error }
      }
    }
  }

  private func endReading(_ connection: Connection) {
    connection.rollBack()
    let isKept = pool.withLock { pool in
      guard connection.isUsable, !pool.isClosed, pool.idle.count < Self.idleLimit else { return false }
      pool.idle.append(connection)
      return true
    }
    if !isKept { connection.close() }
  }
}

/// A state of the store that outlives a call: a transaction that stays open on a connection of its own.
///
/// PostgreSQL removes no row that it may still see, from any table, while it is held.
final class HeldSnapshot: StoreSnapshot, @unchecked Sendable {
  // @unchecked: the connection is used under the lock only.

  private let connection: Connection
  private let tables: StoredTables
  private let cursors = CursorNames()
  private let end: @Sendable (Connection) -> Void
  /// A body that reads may read again.
  private let lock = NSRecursiveLock()

  init(_ connection: Connection, of tables: StoredTables, end: @escaping @Sendable (Connection) -> Void) {
    self.connection = connection
    self.tables = tables
    self.end = end
  }

  deinit { end(connection) }

  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    lock.lock()
    defer { lock.unlock() }
    let result = try body(SnapshotReader(connection: connection, tables: tables, cursors: cursors))
    // What its cursors hold in the server is not kept until the next read.
    try connection.sendDue()
    return result
  }
}
