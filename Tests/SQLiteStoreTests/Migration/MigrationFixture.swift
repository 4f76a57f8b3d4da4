import Foundation
import ObjectGraph
import PostgresTesting
import Synchronization

/// A folder, or a schema of a database, with a store that is opened with one model after another.
final class MigrationFixture {
  /// The options that both stores have.
  struct Options: Sendable {
    var migratesAutomatically = true
    var stagedMigration: StagedMigrationManager?
    /// So that all migrations prove that views are never in their way.
    var makesViews = true
  }

  let folder: URL
  /// The database that all fixtures share, since making one takes longer than most tests.
  private static let shared = Result { try PostgresCluster.makeDatabase() }
  private static let count = Atomic<Int>(0)
  private let database: TestDatabase?
  private let schema = "migration\(MigrationFixture.count.add(1, ordering: .relaxed).newValue)"

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("migration-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    database = SQLStore.current == .postgres ? try Self.shared.get() : nil
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private var file: URL { folder.appendingPathComponent("test.sqlite") }

  /// What another process opens the store by.
  var address: String { database.map { "\($0.url)#\(schema)" } ?? file.path }

  /// The store at an address.
  static func description(_ address: String, _ options: Options) -> PersistentStoreDescription {
    if address.hasPrefix("postgresql:") {
      var postgres = PostgresStoreOptions()
      postgres.migratesAutomatically = options.migratesAutomatically
      postgres.stagedMigration = options.stagedMigration
      postgres.makesViews = options.makesViews
      postgres.noticesOtherWriters = false
      let parts = address.split(separator: "#")
      postgres.schemaName = String(parts[1])
      return .postgresql(url: String(parts[0]), options: postgres)
    }
    var sqlite = SQLiteStoreOptions()
    sqlite.migratesAutomatically = options.migratesAutomatically
    sqlite.stagedMigration = options.stagedMigration
    sqlite.makesViews = options.makesViews
    return .sqlite(at: URL(fileURLWithPath: address), options: sqlite)
  }

  /// Opens the store with a model, runs the body in a context, saves and closes.
  @discardableResult
  func with<Result: Sendable>(
    _ descriptions: [EntityDescription], options: Options = Options(),
    _ body: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) throws -> Result {
    try with(model: try ManagedObjectModel(descriptions), options: options, body)
  }

  @discardableResult
  func with<Result: Sendable>(
    model: ManagedObjectModel, options: Options = Options(),
    _ body: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) throws -> Result {
    let coordinator = PersistentStoreCoordinator(model: model)
    try coordinator.open(Self.description(address, options))
    defer { try? coordinator.close() }
    return try ManagedObjectContext(coordinator: coordinator).performAndWait { context in
      let result = try body(context)
      try context.save()
      return result
    }
  }

  /// The number of tables and temporary tables that a migration has left over.
  func leftovers() throws -> String {
    try database?.run(
      "SELECT count(*) FROM pg_tables WHERE schemaname = '\(schema)' AND tablename ~ '^_(new|old|converted)_'")
      ?? SQLiteStoreOpeningTests.sqlite(
        file, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name GLOB '_[on]*'")
  }

  /// The answer of the database's own client to a query of views, a line per row with bars between the columns.
  ///
  /// - Parameter sql: names a view as `<ENTITY>`.
  func query(_ sql: String) throws -> String {
    let place = database == nil ? "" : "\(schema)."
    let text = sql.replacing(/<(\w+)>/) { "\(place)\"_view_\($0.output.1)\"" }
    guard let database else { return try SQLiteStoreOpeningTests.sqlite(file, text) }
    return try database.lines("SET TIME ZONE 'UTC'; \(text)")
  }

  /// The names of the views.
  func views() throws -> [String] {
    let names =
      try database?.lines(
        "SELECT viewname FROM pg_views WHERE schemaname = '\(schema)' ORDER BY viewname COLLATE \"C\"")
      ?? SQLiteStoreOpeningTests.sqlite(file, "SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name")
    return names.split(separator: "\n").map(String.init)
  }

  /// The number of large values of a size beside the rows.
  func largeValueCount(_ byteCount: Int) throws -> Int {
    if let database {
      let count = try database.run("SELECT count(DISTINCT name) FROM \(schema)._file WHERE name LIKE '%.\(byteCount)'")
      return count.flatMap { Int($0) } ?? 0
    }
    let files = folder.appendingPathComponent("test_files").path
    return try FileManager.default.contentsOfDirectory(atPath: files).filter { $0.hasSuffix(".\(byteCount)") }.count
  }

  /// "ok" if the file is sound; a server looks after its own.
  func integrity() throws -> String {
    database == nil ? try SQLiteStoreOpeningTests.sqlite(file, "PRAGMA integrity_check") : "ok"
  }
}

extension ManagedObjectContext {
  /// All objects of an entity in the order of their keys.
  func all(_ entity: String) throws -> [ManagedObject] {
    try fetch(FetchRequest<ManagedObject>(entity: entity, nil)).sorted { $0.objectID.key < $1.objectID.key }
  }

  func insert(_ entity: String, _ values: [String: Any]) -> ManagedObject {
    let object = insertObject(ofEntity: entity)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }
}
