package import Foundation
import ObjectModel
import SQLGeneration
public import StoreInterface
import Synchronization

/// Keeps rows in an SQLite file in WAL mode, and large values in files beside it.
///
/// One connection writes, under a lock; others read, each a snapshot of its own, and never wait for the writer.
/// A commit is on disk when `save` returns (`synchronous=FULL`).
public final class SQLiteStore: PersistentStore, Sendable {
  package let identifier: UUID
  let filePath: String
  package var path: String? { filePath }

  let schema: Schema
  let options: SQLiteStoreOptions
  let files: ExternalFiles
  let rows: RowSource
  let names: EntityNames
  private let statements: [EntityStatements]
  private let deletes: DeleteStatements
  private let derived: DerivedColumns
  private let counter: StatementCounter
  /// The identifier of this open store among all others on the same file.
  let instance = UUID().uuidString
  private let readers: ReaderPool
  private let openFiles: OpenFiles
  let watcher = Mutex<CommitWatcher?>(nil)
  /// Told of each commit of rows.
  let commitObserver = Mutex<(@Sendable () -> Void)?>(nil)
  /// SQLite's counter of commits by others; read by the writer only.
  private let dataVersion: Mutex<Int64>
  /// The resources of an open store; nil once it is closed.
  let writer: Mutex<(connection: Connection, folderLock: FolderLock)?>
  private let transactionThread = TransactionThread()

  package var stagingDirectory: String? { files.staging }

  /// The number of statements that were run, housekeeping and transaction control excluded.
  public var statementCount: Int { counter.value.load(ordering: .relaxed) }

  /// The connection in whose transaction everything happens, for a store that is being migrated.
  private let enclosing: Connection?

  /// A store on a connection that is in the middle of a transaction: what is saved is part of that.
  convenience init(
    within connection: Connection, model: ManagedObjectModel, coordinatorOrdinal: UInt32, options: SQLiteStoreOptions
  ) throws(StoreError) {
    try self.init(
      connection, Schema(model), options: options, counter: StatementCounter(), ordinal: coordinatorOrdinal,
      enclosing: connection
    ) { () throws(StoreError) in connection }
  }

  /// A store on a connection that is set up, and fits the schema.
  ///
  /// - Parameters:
  ///   - enclosing: the connection in whose transaction everything happens, if there is one.
  ///   - connect: makes another connection, for reading.
  init(
    _ connection: Connection, _ schema: Schema, options: SQLiteStoreOptions, counter: StatementCounter,
    ordinal coordinatorOrdinal: UInt32, enclosing: Connection?,
    connect: @escaping @Sendable () throws(StoreError) -> Connection
  ) throws(StoreError) {
    let path = connection.path
    let model = schema.model
    let identifier = try connection.controlResult("SELECT value FROM _metadata WHERE key = 'uuid'") { $0.text(0) }
    guard let identifier = identifier.flatMap(UUID.init(uuidString:)) else {
      throw StoreError(.corrupt, "the store has no identifier; restore it from a backup", path: path)
    }
    let files = ExternalFiles(storePath: path, isPrivate: options.isPrivate)
    let names = EntityNames(model)
    self.identifier = identifier
    self.options = options
    self.schema = schema
    self.files = files
    self.names = names
    self.counter = counter
    filePath = path
    rows = RowSource(schema: schema, files: files, coordinatorOrdinal: coordinatorOrdinal)
    statements = model.entities.map { EntityStatements($0, table: schema.table(of: $0), names: names) }
    deletes = DeleteStatements(schema)
    derived = DerivedColumns(model, coordinatorOrdinal: coordinatorOrdinal)
    let openFiles = OpenFiles(of: path)
    self.openFiles = openFiles
    readers = ReaderPool { () throws(StoreError) in
      // Before, so that it doesn't meet another file or a log that isn't this file's; after, in case that it did.
      try openFiles.check()
      let connection = Result { () throws(StoreError) in try connect() }
      try openFiles.check()
      return try connection.get()
    }
    self.enclosing = enclosing
    let folderLock = try files.open()
    dataVersion = Mutex(try Self.dataVersion(connection))
    writer = Mutex((connection, folderLock))
  }

  package func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    try withWriter { connection throws(StoreError) in
      var keys: Range<Int64> = 0..<0
      try connection.transaction { () throws(StoreError) in
        keys = try KeyBlocks(connection: connection, names: names).reserve(request)
      }
      return keys
    }
  }

  package func save(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult {
    let result = try withWriter { connection throws(StoreError) in
      var transaction = saveTransaction(connection, from: request.origin)
      return try transaction.run(request)
    }
    tellOfCommit()
    return result
  }

  private func tellOfCommit() { commitObserver.withLock { $0 }?() }

  package func transaction<Result: Sendable>(
    from origin: TransactionOrigin, _ body: (any StoreTransaction) throws -> Result
  ) throws -> Result {
    try transactionThread.checkOutside(path)
    let result = try writer.withLock { held in
      guard let connection = held?.connection else { throw closed }
      let transaction = WriteTransaction(
        saveTransaction(connection, from: origin), reader: SnapshotReader(connection: connection, store: self))
      return try transactionThread.run { try transaction.run(body) }
    }
    tellOfCommit()
    return result
  }

  private func saveTransaction(_ connection: Connection, from origin: TransactionOrigin) -> SaveTransaction {
    SaveTransaction(
      connection: connection, schema: schema, statements: statements, deletes: deletes,
      derived: derived, keys: KeyBlocks(connection: connection, names: names), decoder: rows,
      files: SaveFiles(files, threshold: options.externalDataThreshold),
      history: HistoryWriter(connection, from: origin, writer: instance), openFiles: openFiles,
      failure: options.failure)
  }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    try withReader { try body(SnapshotReader(connection: $0, store: self)) }
  }

  /// Lends a connection that sees one state of the store.
  func withReader<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    if let enclosing { return try body(enclosing) }
    let connection = try beginReading()
    defer { endReading(connection) }
    return try body(connection)
  }

  package func snapshot() throws -> (any StoreSnapshot)? {
    enclosing == nil ? HeldSnapshot(try beginReading(), of: self) : nil
  }

  /// A connection for the caller alone that sees one state of the store, until ``endReading(_:)``.
  private func beginReading() throws(StoreError) -> Connection {
    let connection = try readers.acquire()
    do throws(StoreError) {
      try connection.control("BEGIN")
      // The snapshot is made by the first read, not by BEGIN.
      try connection.control("SELECT 1 FROM _metadata LIMIT 1")
      if let fault = options.failure?(FaultPoint(step: .read, index: 0)) {
        throw connection.error(fault.code, sql: nil)
      }
      return connection
    } catch {
      endReading(connection)
      throw error
    }
  }

  func endReading(_ connection: Connection) {
    connection.endTransaction()
    readers.returnConnection(connection)
  }

  package func reclaimSpace(atMost byteCount: Int) throws(StoreError) -> Int {
    try withWriter { connection throws(StoreError) in
      let pageSize = try connection.controlResult("PRAGMA page_size") { $0.integer(0) } ?? 4096
      let before = try connection.controlResult("PRAGMA freelist_count") { $0.integer(0) } ?? 0
      if before == 0 { return 0 }
      try connection.control("PRAGMA incremental_vacuum(\(max(1, Int64(byteCount) / pageSize)))")
      let after = try connection.controlResult("PRAGMA freelist_count") { $0.integer(0) } ?? 0
      return Int((before - after) * pageSize)
    }
  }

  package func bytesInUse() throws(StoreError) -> Int {
    try withWriter { connection throws(StoreError) in
      let values = try ["page_count", "freelist_count", "page_size"].map { (name) throws(StoreError) in
        try connection.controlResult("PRAGMA \(name)") { $0.integer(0) } ?? 0
      }
      return Int((values[0] - values[1]) * values[2])
    }
  }

  /// Writes the journal into the file and closes; a save under way is waited for, readers finish on their own.
  ///
  /// Closing twice does nothing.
  package func close(returning unused: [KeyBlock]) throws(StoreError) {
    watcher.withLock { $0 }?.stop()
    readers.close()
    let held = writer.withLock { held in
      defer { held = nil }
      return held
    }
    guard let connection = held?.connection else { return }
    if enclosing == nil { connection.setBusyTimeout(0) }
    try connection.transaction { () throws(StoreError) in
      try KeyBlocks(connection: connection, names: names).returnBlocks(unused)
    }
    if enclosing == nil {
      files.removal.remove([])
      try connection.control("PRAGMA wal_checkpoint(TRUNCATE)")
    }
  }

  package func findings() throws(StoreError) -> [String] {
    try withWriter { connection throws(StoreError) in
      try StoreAudit(connection: connection, schema: schema, files: files).findings()
    }
  }

  /// Lends the connection that writes, while nobody else does.
  func withWriter<Result>(
    _ body: (Connection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result where Result: Sendable {
    try transactionThread.checkOutside(path)
    return try writer.withLock { held throws(StoreError) in
      guard let connection = held?.connection else { throw closed }
      return try body(connection)
    }
  }

  /// True if others have committed since the last call.
  func noticesForeignCommit(_ connection: Connection) throws(StoreError) -> Bool {
    let version = try Self.dataVersion(connection)
    return dataVersion.withLock { seen in
      defer { seen = version }
      return seen != version
    }
  }

  private static func dataVersion(_ connection: Connection) throws(StoreError) -> Int64 {
    try connection.controlResult("PRAGMA data_version") { $0.integer(0) } ?? 0
  }

  private var closed: StoreError { StoreError(.noStore, "the store is closed", path: filePath) }
}

extension SQLiteStore {
  package func observeForeignCommits(_ handler: @escaping @Sendable (ForeignCommit) -> Void) throws(StoreError) {
    guard options.noticesOtherWriters, let path else { return }
    let made = try CommitWatcher(journal: path + "-wal") { [weak self] mayWait, watchAgain in
      self?.look(mayWait, watchAgain, handler: handler) ?? true
    }
    watcher.withLock { $0 = made }
  }

  /// Tells what others have committed since the last call; see ``CommitWatcher/Look``.
  ///
  /// While this store writes itself there is nothing to be seen, since nobody else can commit. To wait for that would keep
  /// a processor busy that the writer can use.
  private func look(_ mayWait: Bool, _ watchAgain: () -> Void, handler: (ForeignCommit) -> Void) -> Bool {
    func look(_ connection: Connection?) -> ForeignCommit? {
      guard let connection else { return nil }
      watchAgain()
      // One that can't be read tells whoever uses it.
      return try? foreignCommit(connection)
    }
    let found: ForeignCommit??
    if mayWait {
      found = .some(writer.withLock { look($0?.connection) })
    } else {
      found = writer.withLockIfAvailable { look($0?.connection) }
    }
    guard let found else { return false }
    if let found { handler(found) }
    return true
  }

  private func foreignCommit(_ connection: Connection) throws(StoreError) -> ForeignCommit? {
    guard try noticesForeignCommit(connection) else { return nil }
    var keys: [(root: Entity, key: Int64)] = []
    for table in schema.tables {
      let highest = try connection.controlResult("SELECT max(_key) FROM \(SchemaName.quoted(table.name))") {
        $0.isNull(0) ? 0 : $0.integer(0)
      }
      keys.append((table.root, highest ?? 0))
    }
    return ForeignCommit(highestKeys: keys)
  }
}
