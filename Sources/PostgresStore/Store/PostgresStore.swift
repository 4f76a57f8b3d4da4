package import Foundation
package import ObjectModel
import SQLGeneration
public import StoreInterface
import Synchronization

/// Keeps rows in a schema of a PostgreSQL database, and large values in parts beside them.
///
/// One connection writes, under a lock; others read, each a state of its own, and never wait for the writer. Other
/// processes may have the same store open and write to it: versions tell who was first.
public final class PostgresStore: PersistentStore, Sendable {
  package let identifier: UUID
  private let place: String
  package var path: String? { place }

  private let plan: WritingPlan
  private let options: PostgresStoreOptions
  private let tables: StoredTables
  private let readers: Readers
  /// The identifier of this open store among all others on the same schema.
  private let instance = UUID().uuidString
  private let writer: SpareConnection
  /// Reserves keys and reads large values, also while the writer is in a transaction.
  private let spare: SpareConnection
  private let transactionThread = TransactionThread()

  /// Opens a store, or makes it.
  ///
  /// - Throws: ``StoreError`` that says what is wrong with the way to it, with its format or its model.
  package init(
    _ url: String, model: ManagedObjectModel, coordinatorOrdinal: UInt32, options: PostgresStoreOptions = .init()
  ) throws(StoreError) {
    let schema = Schema(model, dialect: .postgres)
    let opener = try StoreOpener(url, schema: schema, options: options)
    let (connection, identifier) = try opener.open()
    let settings = opener.settings
    self.identifier = identifier
    self.options = options
    place = settings.target.place
    writer = SpareConnection(settings, connection)
    let spare = SpareConnection(settings)
    self.spare = spare
    let values = LargeValues(spare, place: settings.target.place)
    let tables = StoredTables(schema, coordinatorOrdinal: coordinatorOrdinal) { values.blob(named: $0) }
    self.tables = tables
    readers = Readers(of: tables) { () throws(StoreError) in try Connection(settings) }
    plan = WritingPlan(schema, coordinatorOrdinal: coordinatorOrdinal, threshold: options.externalDataThreshold)
  }

  package func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    try transactionThread.checkOutside(place)
    return try reserve(request)
  }

  private func reserve(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    let plan = plan
    return try spare.lend { connection throws(StoreError) in try KeyBlocks(connection, plan.schema).reserve(request) }
  }

  package func save(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult {
    try transactionThread.checkOutside(place)
    return try writer.lend { connection throws(StoreError) in
      var transaction = saveTransaction(connection, from: request.origin)
      return try transaction.run(request) { (reservation) throws(StoreError) in try self.reserve(reservation) }
    }
  }

  package func transaction<Result: Sendable>(
    from origin: TransactionOrigin, _ body: (any StoreTransaction) throws -> Result
  ) throws -> Result {
    try transactionThread.checkOutside(place)
    return try writer.lendToAny { connection in
      let transaction = WriteTransaction(
        saveTransaction(connection, from: origin),
        reader: SnapshotReader(connection: connection, tables: tables, cursors: CursorNames())
      ) { (reservation) throws(StoreError) in try self.reserve(reservation) }
      return try transactionThread.run { try transaction.run(body) }
    }
  }

  private func saveTransaction(_ connection: Connection, from origin: TransactionOrigin) -> SaveTransaction {
    SaveTransaction(
      connection, plan, tables: tables, history: HistoryWriter(connection, from: origin, writer: instance))
  }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try readers.read(body) }

  package func snapshot() throws -> (any StoreSnapshot)? { try readers.snapshot() }

  package var history: (any StoreHistory)? {
    let isPresent = try? spare.lend { connection throws(StoreError) in
      try HistorySchema(connection: connection).isPresent
    }
    // A store that can't be read says so when its history is.
    return isPresent == false
      ? nil
      : PostgresHistory(
        connection: spare, model: plan.schema.model, identifier: identifier, writer: instance,
        coordinatorOrdinal: plan.coordinatorOrdinal, place: place)
  }

  /// Large values come as bytes: there is no folder that the server could take files from.
  package var stagingDirectory: String? { nil }

  package func bytesInUse() throws(StoreError) -> Int {
    try spare.lend { connection throws(StoreError) in
      let size = try connection.query(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
          + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'")
      return Int(size.integer(0, 0))
    }
  }

  /// Refuses: an audit that looks at nothing would find nothing.
  package func findings() throws(StoreError) -> [String] {
    throw StoreError(.unsupported, "a store in PostgreSQL can't be audited yet", path: place)
  }

  /// Closes the connections; a save under way is waited for, readers finish on their own.
  ///
  /// Closing twice does nothing.
  package func close(returning unused: [KeyBlock]) throws(StoreError) {
    readers.close()
    let plan = plan
    try writer.close { connection throws(StoreError) in
      try KeyBlocks(connection, plan.schema).giveBack(unused)
    }
    try spare.close()
  }
}
