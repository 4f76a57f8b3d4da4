import Foundation
import Glibc
import ObjectModel
package import SQLGeneration
package import StoreInterface

/// An SQLite store that is being filled, under a name of its own: it gets the store's when it is complete.
package final class SQLiteCopyTarget: CopyTarget {
  package let place: String
  package private(set) var progress: [String: CopyKey] = [:]
  private let source: CopiedStore
  private let schema: Schema
  private let options: SQLiteStoreOptions
  private let files: ExternalFiles
  private var connection: Connection?

  /// The name until the store is complete.
  package static func temporaryPath(_ path: String) -> String { path + ".copying" }

  private var temporary: String { Self.temporaryPath(place) }

  /// Begins a new store, or goes on with what an earlier copy of the same store has left.
  ///
  /// - Throws: ``StoreError/Code/cannotOpen`` if there is a store already, or the beginning of a copy of another one.
  package init(path: String, of source: CopiedStore) throws(StoreError) {
    place = path
    self.source = source
    schema = Schema(source.model)
    var options = SQLiteStoreOptions()
    options.reclaimsSpace = true
    options.isPrivate = true
    self.options = options
    files = ExternalFiles(storePath: path, isPrivate: true)
    try Self.checkFree(path)
    try opener.checkNames()
    try FileSystem.makeFolder(files.folder, mode: 0o700)
    try begin()
  }

  private static func checkFree(_ path: String) throws(StoreError) {
    for suffix in ["", "-wal", "-journal"] where FileSystem.exists(path + suffix) {
      throw StoreError(
        .cannotOpen, "there is a store already, and it is not overwritten; move \(path)\(suffix) away", path: path)
    }
  }

  /// Looks whether a copy could begin or go on; changes nothing.
  package static func check(path: String, for source: CopiedStore) throws(StoreError) {
    try checkFree(path)
    let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard access(parent, W_OK | X_OK) == 0 else { throw FileSystem.error(errno, "write to", path: parent) }
    try StoreOpener(
      path: path, schema: Schema(source.model), options: SQLiteStoreOptions(), counter: StatementCounter()
    ).checkNames()
  }

  private var opener: StoreOpener {
    StoreOpener(path: place, schema: schema, options: options, counter: StatementCounter())
  }

  private static let copyKey = "copy"

  private func begin() throws(StoreError) {
    if FileSystem.exists(temporary), try resume() { return }
    for suffix in ["", "-wal", "-shm", "-journal"] { FileSystem.remove(temporary + suffix) }
    try opener.writeNewStore(temporary)
    let connection = try connect()
    if source.history != nil { try HistorySchema(connection: connection).create() }
    try connection.transaction { () throws(StoreError) in
      // They are made when all rows are there, which is quicker.
      for index in schema.allIndexes { try connection.control("DROP INDEX \(SchemaName.quoted(index.name))") }
      try connection.control("CREATE TABLE _copy (name TEXT PRIMARY KEY, last TEXT NOT NULL) WITHOUT ROWID")
      try setMetadata("uuid", source.identifier.uuidString, on: connection)
      try setMetadata(Self.copyKey, identity, on: connection)
    }
    self.connection = connection
  }

  /// The store that is copied, and its model.
  private var identity: String { "\(source.identifier.uuidString) \(source.model.versionHash)" }

  /// Goes on with a copy; false if one had not even begun.
  private func resume() throws(StoreError) -> Bool {
    // A copy that was ended while it made the file.
    guard FileSystem.size(of: temporary) > 0, try StoreHeader(path: temporary).check() else { return false }
    let connection = try connect()
    let hasTables = try connection.controlResult("SELECT 1 FROM sqlite_master WHERE name = '_metadata'") { _ in true }
    guard hasTables == true else { return false }
    let found = try connection.controlResult("SELECT value FROM _metadata WHERE key = '\(Self.copyKey)'") { $0.text(0) }
    guard let found else { return false }
    guard found == identity else {
      throw StoreError(
        .cannotOpen, "an unfinished copy of another store, or of one with another model, is in the way; remove it",
        path: temporary)
    }
    try connection.runControl("SELECT name, last FROM _copy") { statement in
      progress[statement.text(0)] = CopyKey(statement.text(1))
      return true
    }
    self.connection = connection
    return true
  }

  private func connect() throws(StoreError) -> Connection {
    let connection = try Connection(
      path: temporary, role: .writer, settings: options.connection, counter: StatementCounter())
    try StoreOpener.configure(connection)
    return connection
  }

  private func setMetadata(_ key: String, _ value: String, on connection: Connection) throws(StoreError) {
    try connection.control("INSERT OR REPLACE INTO _metadata VALUES (?1, ?2)") { statement in
      statement.bindCopy(key, 1)
      statement.bindCopy(value, 2)
    }
  }

  private func open() throws(StoreError) -> Connection {
    guard let connection else { throw StoreError(.noStore, "the copy is finished", path: place) }
    return connection
  }

  // MARK: Writing

  package func write(
    _ rows: CopiedRows, to table: CopiedTable, from source: any CopySource
  ) throws(StoreError) {
    let connection = try open()
    if rows.hasLargeValues { try writeLargeValues(rows, from: source) }
    // Siblings may share a column, of which each row has one value at most.
    var places: [String: Int32] = [:]
    let parameters = table.columns.map { column -> Int32 in
      let name = column.storedName(in: .sqlite)
      let place = places[name] ?? Int32(places.count + 1)
      places[name] = place
      return place
    }
    let names = places.sorted { $0.value < $1.value }.map { SchemaName.quoted($0.key) }
    let statement = try connection.prepare(
      "INSERT INTO \(SchemaName.quoted(table.storedName(in: .sqlite))) (\(names.joined(separator: ", "))) "
        + "VALUES (\(names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))")
    defer { connection.recycle(statement) }
    let last = rows.key(rows.count - 1, of: table)
    try connection.transaction { () throws(StoreError) in
      for row in 0..<rows.count {
        statement.clearBindings()
        try rows.withValues(ofRow: row) { (values) throws(StoreError) in
          for parameter in parameters { if let value = values.next() { Self.bind(value, parameter, of: statement) } }
          _ = try statement.stepToRow(of: connection)
        }
        statement.reset()
      }
      try connection.control("INSERT OR REPLACE INTO _copy VALUES (?1, ?2)") { statement in
        statement.bindCopy(table.name, 1)
        statement.bindCopy(last.description, 2)
      }
    }
    progress[table.name] = last
  }

  private static func bind(_ value: CopiedValue, _ parameter: Int32, of statement: Statement) {
    switch value {
    // All are null to begin with.
    case .null: break
    case .integer(let number): statement.bind(number, parameter)
    case .real(let number): statement.bind(number, parameter)
    case .text(let bytes): statement.bindText(bytes, parameter)
    case .bytes(let bytes): statement.bindBlob(bytes, parameter)
    case .large(let name, _): statement.bindCopy(name, parameter)
    }
  }

  /// Writes files, which are on disk before the transaction that names them; what is there already is written again.
  private func writeLargeValues(_ rows: CopiedRows, from source: any CopySource) throws(StoreError) {
    for row in 0..<rows.count {
      try rows.withValues(ofRow: row) { (values) throws(StoreError) in
        while let value = values.next() {
          if case .large(let name, _) = value { try writeFile(name, from: source) }
        }
      }
    }
    try FileSystem.sync(files.folder)
  }

  private func writeFile(_ name: String, from source: any CopySource) throws(StoreError) {
    guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/") else {
      throw StoreError(.corrupt, "a large value has a name that is none", path: source.place)
    }
    let temporary = files.path(".\(name).new")
    FileSystem.remove(temporary)
    let descriptor = try FileSystem.call("create", temporary) {
      Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    }
    defer { close(descriptor) }
    try source.readLargeValue(name) { (piece) throws(StoreError) in
      var offset = 0
      while let base = piece.baseAddress, offset < piece.count {
        offset += try FileSystem.call("write", temporary) {
          Glibc.write(descriptor, base + offset, piece.count - offset)
        }
      }
    }
    try FileSystem.call("sync", temporary) { fsync(descriptor) }
    try FileSystem.call("rename", temporary) { rename(temporary, files.path(name)) }
  }

  // MARK: The end

  package func reader() throws(StoreError) -> any CopySource {
    let connection = try Connection(
      path: temporary, role: .reader, settings: options.connection, counter: StatementCounter(),
      access: .read(isAlone: false))
    return try SQLiteCopySource(connection, place: place, files: files, lock: nil)
  }

  package func finish() throws(StoreError) {
    let connection = try open()
    try connection.transaction { () throws(StoreError) in
      for (root, next) in source.nextKeys.sorted(by: { $0.key < $1.key }) {
        try connection.control("INSERT OR REPLACE INTO _keys VALUES (?1, ?2)") { statement in
          statement.bindCopy(root, 1)
          statement.bind(next, 2)
        }
      }
      guard let history = source.history else { return }
      try connection.control("DELETE FROM sqlite_sequence WHERE name = '_transaction'")
      try connection.control("INSERT INTO sqlite_sequence VALUES ('_transaction', ?1)") { $0.bind(history.newest, 1) }
      guard let purged = history.purged else { return }
      try connection.control("INSERT OR REPLACE INTO _metadata VALUES ('\(HistorySchema.purgedKey)', ?1)") {
        $0.bind(purged, 1)
      }
    }
    try connection.registerFunctions()
    try SchemaUpdater(connection: connection, schema: schema, files: files, options: options).update()
    try connection.transaction { () throws(StoreError) in
      try connection.control("DROP TABLE _copy")
      try connection.control("DELETE FROM _metadata WHERE key = '\(Self.copyKey)'")
    }
    // What is still in the log would stay behind.
    let isWhole = try connection.controlResult("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) == 0 }
    guard isWhole == true, FileSystem.size(of: temporary + "-wal") == 0 else {
      throw StoreError(.busy, "another process has the new store open; end it, and copy once more", path: temporary)
    }
    self.connection = nil
    try giveToOwner()
    try opener.putInPlace(temporary)
    for suffix in ["", "-wal", "-shm"] { FileSystem.remove(temporary + suffix) }
  }

  /// Gives what root has made to the owner of the folder around it, who is the daemon's user.
  private func giveToOwner() throws(StoreError) {
    guard geteuid() == 0 else { return }
    var status = stat()
    let parent = URL(fileURLWithPath: place).deletingLastPathComponent().path
    try FileSystem.call("look at", parent) { stat(parent, &status) }
    let names = FileSystem.names(in: files.folder).map { files.path($0) }
    for path in [temporary, files.folder] + names {
      try FileSystem.call("give away", path) { chown(path, status.st_uid, status.st_gid) }
    }
  }
}
