import Foundation
import Glibc
import ObjectModel
import SQLGeneration
import StoreInterface

/// Opens a store's file, or makes it: never over something that is there, and never half.
struct StoreOpener {
  /// "Bobn" in the file's header: what tells our stores from other programs' databases.
  static let applicationID: Int32 = 0x426f_626e
  /// The layout of our own tables; how to change it is said in Documentation/StoreFormat.md.
  static let formatVersion: Int32 = 1

  let path: String
  let schema: Schema
  let options: SQLiteStoreOptions
  let counter: StatementCounter

  /// Sees that tables and columns can have the names of entities and properties.
  func checkNames() throws(StoreError) {
    if let clash = schema.nameClash {
      throw StoreError(
        .incompatibleModel, "\"\(clash)\" can't be a name in SQLite: it is reserved, or used twice if case is ignored",
        path: path)
    }
  }

  /// The writer's connection to a store that fits the model.
  func open() throws(StoreError) -> Connection {
    try checkNames()
    if try checkHeader() { try makePrivate() } else { try create() }
    do throws(StoreError) { return try openFitting() } catch {
      guard options.deletesIncompatibleStore, error.code == .incompatibleModel, try isOfThisFormat() else {
        throw error
      }
    }
    try deleteStore()
    try create()
    return try openFitting()
  }

  /// The writer's connection to a store that is there and fits the model, or is made to fit.
  private func openFitting() throws(StoreError) -> Connection {
    let connection = try connect(.writer)
    try checkFormat(connection)
    // A process that was killed may have left a long log on a disk that has no room for anything else.
    WriteAheadLog(connection).release()
    if let stages = options.stagedMigration {
      try migrate(stages, try connect(.writer))
    }
    try updater(connection).update()
    if options.tracksHistory { try HistorySchema(connection: connection).create() }
    return connection
  }

  private func migrate(_ stages: StagedMigrationManager, _ connection: Connection) throws(StoreError) {
    let database = SQLiteMigrationDatabase(connection: connection, files: largeValues, options: options)
    let run = StageRun(database) { () throws(StoreError) in
      try StoredModel(connection)
    } transaction: { (body) throws(StoreError) in
      try connection.transaction { () throws(StoreError) in
        connection.isEnclosed = true
        defer { connection.isEnclosed = false }
        try body()
      }
    } update: { [options, largeValues] (model, policies) throws(StoreError) in
      var options = options
      options.migratesAutomatically = true
      var updater = SchemaUpdater(
        connection: connection, schema: Schema(model), files: largeValues, options: options)
      updater.policies = policies
      try updater.update()
    }
    try run.run(stages)
  }

  private func updater(_ connection: Connection) -> SchemaUpdater {
    SchemaUpdater(
      connection: connection, schema: schema, files: largeValues, options: options)
  }

  private var largeValues: ExternalFiles { ExternalFiles(storePath: path, isPrivate: options.isPrivate) }

  /// Takes the rights of others to the files of a private store away; SQLite gives new files those of the database.
  private func makePrivate() throws(StoreError) {
    guard options.isPrivate else { return }
    for file in StoreFile.paths(of: path) { try FileSystem.makePrivate(file) }
  }

  /// True if what does not fit is the model, and not the release that wrote the store.
  private func isOfThisFormat() throws(StoreError) -> Bool {
    do throws(StoreError) { return try checkHeader() } catch {
      if error.code == .incompatibleModel { return false }
      throw error
    }
  }

  /// Removes the database with its journal and its large values; nobody may have it open.
  ///
  /// The database goes last: what fails before leaves a store that still does not fit, and is removed the next time.
  private func deleteStore() throws(StoreError) {
    for place in [largeValues.folder, path + "-wal", path + "-shm", path] {
      try FileSystem.removeAll(place)
    }
  }

  /// Another connection, with the settings that all of them have.
  func connect(_ role: StatementEvent.Role) throws(StoreError) -> Connection {
    let connection = try Connection(path: path, role: role, settings: options.connection, counter: counter)
    try Self.configure(connection)
    try connection.registerFunctions()
    return connection
  }

  /// Sets what makes commits durable, and asserts it.
  static func configure(_ connection: Connection) throws(StoreError) {
    let settings: [(pragma: String, value: String, expected: String)] = [
      ("journal_mode", "WAL", "wal"), ("synchronous", "FULL", "2"), ("foreign_keys", "OFF", "0"),
      ("temp_store", "MEMORY", "2"), ("trusted_schema", "OFF", "0"),
      ("journal_size_limit", "\(WriteAheadLog.keptBytes)", "\(WriteAheadLog.keptBytes)"),
    ]
    for setting in settings {
      try connection.control("PRAGMA \(setting.pragma) = \(setting.value)")
      let value = try connection.controlResult("PRAGMA \(setting.pragma)") { $0.text(0) }
      guard value == setting.expected else {
        throw StoreError(
          .cannotOpen,
          "the store can't be set up for durable commits: \(setting.pragma) is \(value ?? "unknown"), "
            + "not \(setting.expected); is it on a file system that SQLite can't share memory on?",
          path: connection.path)
      }
    }
  }

  /// True if the file is there; throws if it is something other than a store of ours, without touching it.
  func checkHeader() throws(StoreError) -> Bool { try StoreHeader(path: path).check() }

  private func checkFormat(_ connection: Connection) throws(StoreError) {
    guard !connection.isReadOnly else {
      throw StoreError(.readOnly, "the store can't be written; check the permissions of the file", path: path)
    }
    let version = try connection.controlResult("PRAGMA user_version") { Int32(truncatingIfNeeded: $0.integer(0)) }
    try StoreHeader(path: path).checkVersion(version ?? 0)
  }

  /// Makes a store beside its place and gives it its name when it is complete and on disk.
  private func create() throws(StoreError) {
    for suffix in ["-wal", "-journal"] where access(path + suffix, F_OK) == 0 {
      throw StoreError(
        .cannotOpen,
        "the store is missing but its journal is there (\(path)\(suffix)); put the store back, or remove the journal "
          + "to have a new store made", path: path)
    }
    let temporary = "\(path).\(UUID().uuidString).new"
    defer { for suffix in ["", "-wal", "-shm", "-journal"] { FileSystem.remove(temporary + suffix) } }
    try writeNewStore(temporary)
    try putInPlace(temporary)
  }

  /// Gives a complete store its name.
  func putInPlace(_ temporary: String) throws(StoreError) {
    try FileSystem.sync(temporary)
    // A link, unlike a rename, does not replace a store that another process made meanwhile.
    if link(temporary, path) != 0 {
      switch errno {
      case EEXIST: break
      case EPERM, ENOTSUP: try FileSystem.call("rename", path) { rename(temporary, path) }
      case let code: throw FileSystem.error(code, "create", path: path)
      }
    }
    try FileSystem.sync(URL(fileURLWithPath: path).deletingLastPathComponent().path)
  }

  /// Makes a store under another name.
  func writeNewStore(_ temporary: String) throws(StoreError) {
    // An empty file is a new database, and has the rights that it is made with.
    if options.isPrivate {
      try FileSystem.write(UnsafeRawBufferPointer(start: nil, count: 0), to: temporary, mode: 0o600)
    }
    let connection: Connection
    do throws(StoreError) {
      connection = try Connection(
        path: temporary, role: .writer, settings: options.connection, counter: counter, access: .create)
    } catch {
      throw StoreError(
        error.code, "the store can't be made; check that its folder is there and can be written", path: path,
        detail: error.detail)
    }
    // Only a file without any page takes it.
    if options.reclaimsSpace { try connection.control("PRAGMA auto_vacuum = INCREMENTAL") }
    try connection.control("PRAGMA application_id = \(Self.applicationID)")
    try connection.control("PRAGMA user_version = \(Self.formatVersion)")
    try Self.configure(connection)
    try updater(connection).create()
    try connection.control("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}
