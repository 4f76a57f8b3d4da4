import CSQLite
import Foundation
import Glibc
import SQLGeneration
package import StoreInterface

/// A copy of a store as one moment had it, made while others write: of its database page by page, and of the files of its
/// large values.
///
/// It holds a snapshot while it copies pages, so what is written meanwhile makes the store's log longer; and it keeps files
/// from being removed until it has them. Nobody waits for it. Memory is bounded, whatever the size.
package struct StoreFileCopy: Sendable {
  /// The content of a copy.
  package struct Content: Sendable, Equatable {
    /// The identifier of the store.
    package var store = ""
    /// The hashes of the model's entities, by name.
    package var entities: [String: String] = [:]
    /// The size of the database.
    package var bytes: Int64 = 0
    package var largeValues: Set<String> = []
    /// The size of the large values together.
    package var largeValueBytes: Int64 = 0
  }

  /// The copied bytes of the database, and how many there are.
  package typealias Progress = (_ done: Int64, _ total: Int64) throws(StoreError) -> Void

  private static let pagesPerStep: Int32 = 512

  private let source: String
  private let target: String
  private let mode: mode_t
  private let files: ExternalFiles
  private let targetFiles: String

  /// Describes a copy.
  ///
  /// - Parameters:
  ///   - source: the path of the store.
  ///   - target: the path of the new database, which must not exist.
  ///   - files: the folder of the copy's large values; files that are there already are taken for those of their names.
  ///   - mode: the permission bits of its files, whatever the umask.
  package init(of source: String, to target: String, files: String, mode: UInt32) {
    self.source = source
    self.target = target
    self.mode = mode
    self.files = ExternalFiles(storePath: source, isPrivate: true)
    targetFiles = files
  }

  /// The folder of the large values of a store.
  package static func filesFolder(ofStoreAt path: String) -> String {
    ExternalFiles(storePath: path, isPrivate: true).folder
  }

  /// The files that the rows of a copy name.
  package static func largeValues(inCopyAt path: String) throws(StoreError) -> Set<String> {
    try connect(path, .read(isAlone: true)).largeValueNames()
  }

  /// Makes the copy, on disk when this returns; after an error, what is there of it is the caller's to remove.
  ///
  /// - Parameter isOpenHere: true if this process has the store open: it would lose its locks on a file that is opened and
  ///   closed besides.
  package func run(
    isOpenHere: Bool = false, _ progress: Progress = { (_, _) throws(StoreError) in }
  ) throws(StoreError) -> Content {
    if !isOpenHere, try !StoreHeader(path: source).check() {
      throw StoreError(.cannotOpen, "there is no store; check the path", path: source)
    }
    // Before the snapshot, so that what that names is there.
    let hold = FileSystem.exists(files.folder) ? try FileHold(files.folder) : nil
    defer { withExtendedLifetime(hold) {} }
    var content = try copyPages(progress)
    for name in content.largeValues.sorted() {
      try progress(content.bytes, content.bytes)
      let size = try copyFile(name)
      content.largeValueBytes += size
    }
    if !content.largeValues.isEmpty { try FileSystem.sync(targetFiles) }
    return content
  }

  /// Compares each page of the copy with those that lead to it, and each index with its table.
  ///
  /// - Returns: the number of rows in each table of entities and links.
  /// - Throws: ``StoreError/Code/corrupt`` that names the first contradiction.
  package func check() throws(StoreError) -> [String: Int64] {
    let connection = try Self.connect(target, .read(isAlone: true))
    let found = try connection.controlResult("PRAGMA integrity_check(1)") { $0.text(0) }
    guard found == "ok" else {
      throw StoreError(
        .corrupt,
        "the store is damaged, and so is the copy: \(found ?? "SQLite does not say how"); keep earlier backups, and see what "
          + "\"bobbinctl doctor\" says", path: source)
    }
    var names: [String] = []
    try connection.runControl(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        + "AND substr(name, 1, 1) <> '_'"
    ) { statement in
      names.append(statement.text(0))
      return true
    }
    var rows: [String: Int64] = [:]
    for name in names {
      rows[name] = try connection.controlResult("SELECT count(*) FROM \(SchemaName.quoted(name))") { $0.integer(0) }
    }
    return rows
  }

  private static func connect(_ path: String, _ access: Connection.Access) throws(StoreError) -> Connection {
    try Connection(
      path: path, role: .reader, settings: SQLiteStoreOptions().connection, counter: StatementCounter(), access: access)
  }

  // MARK: The database

  /// Copies the pages of one snapshot, and tells what is in it.
  private func copyPages(_ progress: Progress) throws(StoreError) -> Content {
    let from = try Self.connect(source, .read(isAlone: false))
    try from.control("BEGIN")
    defer { from.endTransaction() }
    var content = try Self.content(from)
    try FileSystem.write(UnsafeRawBufferPointer(start: nil, count: 0), to: target, mode: mode)
    try FileSystem.call("set the rights of", target) { chmod(target, mode) }
    let to = try Connection(
      path: target, role: .writer, settings: SQLiteStoreOptions().connection, counter: StatementCounter())
    // Nobody else knows the file, and it is worth nothing until it is whole: one sync at the end is enough.
    for pragma in ["locking_mode = EXCLUSIVE", "journal_mode = OFF", "synchronous = OFF"] {
      try to.control("PRAGMA \(pragma)")
    }
    content.bytes = try Self.copyPages(from, to: to, progress)
    // So that whoever may only read the copy can open it: a write-ahead log needs files beside it.
    let journal = try to.controlResult("PRAGMA journal_mode = DELETE") { $0.text(0) }
    guard journal == "delete" else {
      throw StoreError(.inputOutput, "the copy keeps its write-ahead log; report this", path: target)
    }
    try FileSystem.sync(target)
    return content
  }

  private static func copyPages(
    _ from: Connection, to: Connection, _ progress: Progress
  ) throws(StoreError) -> Int64 {
    let pageSize = try from.controlResult("PRAGMA page_size") { $0.integer(0) } ?? 4096
    guard let backup = sqlite3_backup_init(to.rawHandle, "main", from.rawHandle, "main") else {
      throw to.error(sqlite3_errcode(to.rawHandle), sql: nil)
    }
    var code = SQLITE_OK
    var stop: StoreError?
    while code == SQLITE_OK, stop == nil {
      code = sqlite3_backup_step(backup, pagesPerStep)
      let total = Int64(sqlite3_backup_pagecount(backup)) * pageSize
      do throws(StoreError) {
        try progress(total - Int64(sqlite3_backup_remaining(backup)) * pageSize, total)
      } catch { stop = error }
    }
    let count = Int64(sqlite3_backup_pagecount(backup))
    sqlite3_backup_finish(backup)
    if let stop { throw stop }
    guard code == SQLITE_DONE else { throw to.error(code, sql: nil) }
    return count * pageSize
  }

  private static func content(_ connection: Connection) throws(StoreError) -> Content {
    var content = Content()
    content.store = try connection.controlResult("SELECT value FROM _metadata WHERE key = 'uuid'") { $0.text(0) } ?? ""
    try connection.runControl("SELECT name, hash FROM _entity") { statement in
      content.entities[statement.text(0)] = statement.text(1)
      return true
    }
    content.largeValues = try connection.largeValueNames()
    return content
  }

  // MARK: Large values

  /// Copies the file of a large value unless it is there; returns its size.
  private func copyFile(_ name: String) throws(StoreError) -> Int64 {
    let path = targetFiles + "/" + name
    let size = files.blob(named: name).byteCount
    if FileSystem.exists(path) {
      try FileSystem.call("set the rights of", path) { chmod(path, mode) }
    } else {
      let temporary = targetFiles + "/.\(name).new"
      FileSystem.remove(temporary)
      try FileSystem.copy(files.path(name), to: temporary, mode: mode)
      try FileSystem.call("set the rights of", temporary) { chmod(temporary, mode) }
      try FileSystem.call("rename", temporary) { rename(temporary, path) }
    }
    guard FileSystem.size(of: path) == size else {
      throw StoreError(
        .corrupt,
        "the file of a large value has \(FileSystem.size(of: path)) bytes, and its name says otherwise; restore it from an "
          + "earlier backup, or delete the object", path: files.path(name))
    }
    return Int64(size)
  }
}
