import Foundation
import Glibc
import ObjectModel
package import SQLGeneration
package import StoreInterface

/// An SQLite store that is copied or compared: one snapshot, on a connection that can't write.
package final class SQLiteCopySource: CopySource {
  package let place: String
  package let store: CopiedStore
  private let connection: Connection
  private let files: ExternalFiles
  /// Tells others that the folder is in use; nil if there is no folder.
  private let lock: FolderLock?

  /// - Parameter isAlone: true if nobody else may have the store open.
  /// - Throws: ``StoreError/Code/busy`` if somebody has, and other codes if it is no store, or of a newer release.
  package convenience init(path: String, isAlone: Bool) throws(StoreError) {
    guard try StoreHeader(path: path).check() else {
      throw StoreError(.cannotOpen, "there is no store; check the path", path: path)
    }
    let files = ExternalFiles(storePath: path, isPrivate: false)
    var lock: FolderLock?
    if isAlone, FileSystem.exists(files.staging) {
      let taken = try FolderLock(files.staging)
      guard taken.isAlone else {
        throw StoreError(.busy, "another process has the store open; stop the daemon first", path: path)
      }
      try taken.share()
      lock = taken
    }
    // Without a log the file is all there is, and none need be made beside it.
    let hasLog = FileSystem.size(of: path + "-wal") > 0 || FileSystem.exists(path + "-shm")
    let connection = try Connection(
      path: path, role: .reader, settings: SQLiteStoreOptions().connection, counter: StatementCounter(),
      access: .read(isAlone: !hasLog))
    try self.init(connection, place: path, files: files, lock: lock)
  }

  init(_ connection: Connection, place: String, files: ExternalFiles, lock: FolderLock?) throws(StoreError) {
    self.place = place
    self.connection = connection
    self.files = files
    self.lock = lock
    try connection.control("BEGIN")
    store = try Self.describe(connection, place: place)
  }

  deinit { connection.endTransaction() }

  private static func describe(_ connection: Connection, place: String) throws(StoreError) -> CopiedStore {
    func metadata(_ key: String) throws(StoreError) -> String? {
      try connection.controlResult("SELECT value FROM _metadata WHERE key = \(SchemaName.literal(key))") { $0.text(0) }
    }
    guard let identifier = try metadata("uuid").flatMap(UUID.init(uuidString:)) else {
      throw StoreError(.corrupt, "the store has no identifier; restore it from a backup", path: place)
    }
    let stored = try StoredModel(connection)
    let model = try stored.copied(place: place)
    var nextKeys: [String: Int64] = [:]
    try connection.runControl("SELECT root, next FROM _keys") { statement in
      nextKeys[statement.text(0)] = statement.integer(1)
      return true
    }
    var history: CopiedStore.History?
    if try HistorySchema(connection: connection).isPresent {
      let newest = try connection.controlResult("SELECT seq FROM sqlite_sequence WHERE name = '_transaction'") {
        $0.integer(0)
      }
      history = CopiedStore.History(
        newest: newest ?? 0, purged: try metadata(HistorySchema.purgedKey).flatMap { Int64($0) })
    }
    var obstacles = stored.lostEntities(besides: model)
    if try metadata("stage") != nil {
      obstacles.append("a migration in stages was not finished; start the daemon once")
    }
    return CopiedStore(
      identifier: identifier, model: model, nextKeys: nextKeys, history: history,
      foreignTables: try foreignTables(connection, besides: Schema(model)), obstacles: obstacles)
  }

  private static func foreignTables(_ connection: Connection, besides schema: Schema) throws(StoreError) -> [String] {
    let own = Set(schema.tables.map(\.name) + schema.linkTables.map(\.name))
    var names: [String] = []
    try connection.runControl(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' "
        + "AND name NOT IN ('_metadata', '_entity', '_keys', '_transaction', '_change', '_copy') ORDER BY name"
    ) { statement in
      if !own.contains(statement.text(0)) { names.append(statement.text(0)) }
      return true
    }
    return names
  }

  package func size(of table: CopiedTable) throws(StoreError) -> CopiedSize {
    let sizes = Set(
      table.columns.compactMap { column -> String? in
        let name = SchemaName.quoted(column.storedName(in: .sqlite))
        switch column.form {
        case .text: return "length(CAST(\(name) AS BLOB))"
        case .bytes:
          return "CASE typeof(\(name)) WHEN 'text' THEN CAST(substr(\(name), instr(\(name), '.') + 1) AS INTEGER) "
            + "ELSE length(\(name)) END"
        case .integer, .real, .uuid: return nil
        }
      })
    let bytes = (["0"] + sizes.sorted().map { "ifnull(\($0), 0)" }).joined(separator: " + ")
    let name = SchemaName.quoted(table.storedName(in: .sqlite))
    return try connection.controlResult("SELECT count(*), ifnull(sum(\(bytes)), 0) FROM \(name)") {
      CopiedSize(rows: $0.integer(0), bytes: $0.integer(1))
    } ?? CopiedSize()
  }

  package func rows(of table: CopiedTable, after key: CopyKey?) throws(StoreError) -> any CopyRowReader {
    let columns = table.columns.map { SchemaName.quoted($0.storedName(in: .sqlite)) }
    let keys = columns.prefix(table.keyCount).joined(separator: ", ")
    let parameters = table.keyCount == 2 ? "?1, ?2" : "?1"
    let condition = key == nil ? "" : " WHERE (\(keys)) > (\(parameters))"
    let statement = try connection.prepare(
      "SELECT \(columns.joined(separator: ", ")) FROM \(SchemaName.quoted(table.storedName(in: .sqlite)))\(condition) "
        + "ORDER BY \(keys)")
    if let key {
      statement.bind(key.first, 1)
      if table.keyCount == 2 { statement.bind(key.second, 2) }
    }
    return SQLiteRowReader(statement, connection, table: table)
  }

  package func readLargeValue(
    _ name: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let path = files.path(name)
    let descriptor = try FileSystem.call("open", path) { open(path, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
    defer { piece.deallocate() }
    var total = 0
    while true {
      let count = try FileSystem.call("read", path) { read(descriptor, piece.baseAddress, piece.count) }
      if count == 0 { break }
      total += count
      try body(UnsafeRawBufferPointer(rebasing: piece[..<count]))
    }
    guard total == LargeValueName.byteCount(name) else {
      throw StoreError(
        .corrupt, "the file of a large value has \(total) bytes, and its name says otherwise; restore it from a backup",
        path: path)
    }
  }

  package func checkUnused() throws(StoreError) {
    if lock?.takeAlone() == false {
      throw StoreError(
        .busy, "another process has opened the store meanwhile, and may have written to it; stop it, and copy anew",
        path: place)
    }
  }
}

/// The rows of one table of an SQLite store.
private final class SQLiteRowReader: CopyRowReader {
  private let statement: Statement
  private let connection: Connection
  private let table: CopiedTable
  private let entityColumn: Int32?
  private var masks: EntityMasks
  private var isAtEnd = false

  init(_ statement: Statement, _ connection: Connection, table: CopiedTable) {
    self.statement = statement
    self.connection = connection
    self.table = table
    entityColumn = table.entityColumn.map(Int32.init)
    masks = EntityMasks(table, place: connection.path)
  }

  deinit { connection.recycle(statement) }

  func read(into rows: inout CopiedRows, byteLimit: Int) throws(StoreError) {
    while !isAtEnd, rows.byteCount < byteLimit {
      guard try statement.stepToRow(of: connection) else {
        isAtEnd = true
        return
      }
      let mask = try mask()
      rows.beginRow()
      for (place, column) in table.columns.enumerated() {
        let isThere = mask?[place] ?? true
        if isThere { append(column.form, Int32(place), to: &rows) } else { rows.appendNull() }
      }
    }
  }

  private func mask() throws(StoreError) -> [Bool]? {
    guard let entityColumn else { return nil }
    return try masks.mask(of: statement.text(entityColumn), key: statement.integer(0))
  }

  /// Appends a value as the library would read it, whatever a foreign client has written.
  @inline(__always)
  private func append(_ form: CopiedTable.Form, _ column: Int32, to rows: inout CopiedRows) {
    if statement.isNull(column) { return rows.appendNull() }
    switch form {
    case .integer: rows.append(statement.integer(column))
    case .real: rows.append(statement.real(column))
    case .text: rows.append(.text, statement.textBytes(column))
    case .uuid:
      let bytes = statement.blobBytes(column)
      if bytes.count == 16 { rows.append(.bytes, bytes) } else { rows.appendNull() }
    case .bytes:
      if statement.isText(column) {
        rows.append(largeValue: statement.text(column))
      } else {
        rows.append(.bytes, statement.blobBytes(column))
      }
    }
  }
}
