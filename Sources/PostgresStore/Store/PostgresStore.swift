package import Foundation
import ObjectModel
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

  /// The work that SQL has left to memory so far.
  package var residuals: ResidualCount { tables.residuals }

  /// A number that grows while the server takes what is written, or answers to it.
  package var traffic: UInt64 { settings.traffic.count }

  private let plan: WritingPlan
  private let options: PostgresStoreOptions
  private let tables: StoredTables
  private let readers: ReaderPool
  /// The identifier of this open store among all others on the same schema.
  private let instance = UUID().uuidString
  private let writer: SpareConnection
  /// Reserves keys and reads large values, also while the writer is in a transaction.
  private let spare: SpareConnection
  private let notices = Mutex<CommitNotices?>(nil)
  private let settings: Connection.Settings
  private let transactionThread = TransactionThread()
  /// The companion of all transactions.
  private let companion = Mutex<(any TransactionCompanion)?>(nil)
  /// True for a store that is being migrated: everything happens in a transaction that somebody else has begun.
  private let isEnclosed: Bool

  /// A store on a connection that is in the middle of a transaction: what is saved is part of that.
  convenience init(
    within connection: Connection, _ settings: Connection.Settings, model: ManagedObjectModel,
    coordinatorOrdinal: UInt32, options: PostgresStoreOptions
  ) throws(StoreError) {
    self.init(
      connection, settings, schema: Schema(model, dialect: .postgres),
      identifier: try Self.identifier(connection),
      ordinal: coordinatorOrdinal, options: options, isEnclosed: true)
  }

  /// A store on a connection to a schema that is set up, and fits the model.
  ///
  /// - Parameter isEnclosed: true if everything happens in a transaction that somebody else has begun on it.
  init(
    _ connection: Connection, _ settings: Connection.Settings, schema: Schema, identifier: UUID,
    ordinal coordinatorOrdinal: UInt32, options: PostgresStoreOptions, isEnclosed: Bool
  ) {
    self.identifier = identifier
    self.options = options
    self.settings = settings
    self.isEnclosed = isEnclosed
    place = settings.target.place
    writer = SpareConnection(settings, connection)
    let spare = SpareConnection(settings, isEnclosed ? connection : nil)
    self.spare = spare
    let values = LargeValues(spare, place: settings.target.place)
    let tables = StoredTables(schema, coordinatorOrdinal: coordinatorOrdinal) { values.blob(named: $0) }
    self.tables = tables
    readers = ReaderPool(of: tables, within: isEnclosed ? connection : nil) { () throws(StoreError) in
      try Connection.another(settings, .reader)
    }
    plan = WritingPlan(schema, coordinatorOrdinal: coordinatorOrdinal, threshold: options.externalDataThreshold)
  }

  /// The identifier of a store.
  static func identifier(_ connection: Connection) throws(StoreError) -> UUID {
    let found = try connection.query("SELECT value FROM _metadata WHERE key = 'uuid'")
    guard found.rowCount > 0, let identifier = UUID(uuidString: found.text(0, 0)) else {
      throw StoreError(.corrupt, "the store has no identifier; restore it from a backup", path: connection.place)
    }
    return identifier
  }

  deinit { notices.withLock { $0 }?.stop() }

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
    let result = try writer.lend { connection throws(StoreError) in
      var transaction = saveTransaction(connection, from: request.origin)
      return try transaction.run(request) { (reservation) throws(StoreError) in try self.reserve(reservation) }
    }
    if result.conflicts.isEmpty { announce() }
    return result
  }

  package func transaction<Result: Sendable>(
    from origin: TransactionOrigin, _ body: (any StoreTransaction) throws -> Result
  ) throws -> Result {
    try transactionThread.checkOutside(place)
    let result = try writer.lendToAny { connection in
      let transaction = WriteTransaction(
        saveTransaction(connection, from: origin),
        reader: SnapshotReader(connection: connection, tables: tables, cursors: CursorNames())
      ) { (reservation) throws(StoreError) in try self.reserve(reservation) }
      return try transactionThread.run { try transaction.run(body) }
    }
    announce()
    return result
  }

  /// Lets other hosts know that there is something new.
  private func announce() { notices.withLock { $0 }?.announce() }

  package func observeForeignCommits(_ handler: @escaping @Sendable (ForeignCommit) -> Void) throws(StoreError) {
    guard options.noticesOtherWriters, !settings.target.isPooled, !isEnclosed else { return }
    // Keys that others use are those that they have reserved.
    let made = try CommitNotices(settings, schemaName: options.schemaName) { handler(ForeignCommit(highestKeys: [])) }
    notices.withLock { $0 = made }
  }

  private func saveTransaction(_ connection: Connection, from origin: TransactionOrigin) -> SaveTransaction {
    SaveTransaction(
      connection, plan, tables: tables, history: HistoryWriter(connection, from: origin, writer: instance),
      companion: companion.withLock { $0 })
  }

  /// Gives somebody a part in every transaction from now on, so that none can be forgotten.
  package func accompanyTransactions(by companion: any TransactionCompanion) {
    self.companion.withLock { $0 = companion }
  }

  package func noteSaved() { companion.withLock { $0 }?.noteSaved() }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try readers.read(body) }

  package func snapshot() throws -> (any StoreSnapshot)? { isEnclosed ? nil : try readers.snapshot() }

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

  package var refusesNul: Bool { true }

  package func bytesInUse() throws(StoreError) -> Int {
    try spare.lend { connection throws(StoreError) in
      let size = try connection.query(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
          + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'")
      return Int(size.integer(0, 0))
    }
  }

  /// Looks at rows, references, links and large values; the server looks after its pages.
  package func findings() throws(StoreError) -> [String] {
    let schema = plan.schema
    return try writer.lend { connection throws(StoreError) in
      try connection.transaction { () throws(StoreError) in
        let values = LargeValueAudit(connection: connection, schema: schema)
        let tables = SchemaAudit(schema) { (rest) throws(StoreError) in try values.count(rest) }
        return try tables.findings() + values.findings()
      }
    }
  }

  /// Closes the connections; a save under way is waited for, readers finish on their own.
  ///
  /// Closing twice does nothing.
  package func close(returning unused: [KeyBlock]) throws(StoreError) {
    notices.withLock { $0 }?.stop()
    readers.close()
    let plan = plan
    func returnKeys(_ connection: Connection) throws(StoreError) {
      try KeyBlocks(connection, plan.schema).returnBlocks(unused)
    }
    // A connection in somebody else's transaction is closed by whom it belongs to.
    if isEnclosed { return try writer.lend { connection throws(StoreError) in try returnKeys(connection) } }
    try writer.close { connection throws(StoreError) in try returnKeys(connection) }
    try spare.close()
  }
}
