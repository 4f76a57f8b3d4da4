import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Opens the schema of a store, or makes it.
struct StoreOpener {
  /// The layout of the store's own tables.
  static let formatVersion = 1

  private let schema: Schema
  private let options: PostgresStoreOptions
  let settings: Connection.Settings

  init(_ url: String, schema: Schema, options: PostgresStoreOptions) throws(StoreError) {
    self.schema = schema
    self.options = options
    settings = Connection.Settings(
      target: try ConnectionTarget(url, options: options), noticeLog: options.noticeLog,
      statementLog: options.statementLog, constraints: Self.constraints(schema))
  }

  /// The uniqueness constraints of a model, by the names of their indexes.
  private static func constraints(_ schema: Schema) -> [String: UniqueConstraint] {
    var constraints: [String: UniqueConstraint] = [:]
    for entity in schema.model.entities {
      for properties in entity.entityDescription.uniquenessConstraints where !properties.isEmpty {
        // As SchemaTable names it.
        let name = schema.dialect.name("_unique_\(entity.name).\(properties.joined(separator: "."))")
        constraints[name] = UniqueConstraint(entity: entity.name, properties: properties)
      }
    }
    return constraints
  }

  /// A connection to a store that fits the model, and the store's identifier.
  func open() throws(StoreError) -> (connection: Connection, identifier: UUID) {
    let place = settings.target.place
    if let clash = schema.nameClash {
      throw StoreError(
        .incompatibleModel,
        "\"\(clash)\" can't be a name in the database: it is reserved, or used twice if case is "
          + "ignored", path: place)
    }
    let connection = try Connection(settings)
    try checkServer(connection)
    let updater = updater(connection, schema)
    if try !isPresent(connection) { try create(updater) }
    try checkFormat(connection)
    if let stages = options.stagedMigration { try migrate(stages, connection) }
    try updater.update()
    if options.tracksHistory { try HistorySchema(connection: connection).create() }
    return (connection, try Self.identifier(connection))
  }

  /// The identifier of a store.
  static func identifier(_ connection: Connection) throws(StoreError) -> UUID {
    let found = try connection.query("SELECT value FROM _metadata WHERE key = 'uuid'")
    guard found.rowCount > 0, let identifier = UUID(uuidString: found.text(0, 0)) else {
      throw StoreError(.corrupt, "the store has no identifier; restore it from a backup", path: connection.place)
    }
    return identifier
  }

  private func updater(_ connection: Connection, _ schema: Schema) -> SchemaUpdater {
    SchemaUpdater(connection: connection, settings: settings, schema: schema, options: options)
  }

  private func migrate(_ stages: StagedMigrationManager, _ connection: Connection) throws(StoreError) {
    let database = PostgresMigrationDatabase(connection: connection, settings: settings, options: options)
    let run = StageRun(database) { () throws(StoreError) in
      try StoredModel(connection)
    } transaction: { (body) throws(StoreError) in
      try connection.patientTransaction { () throws(StoreError) in
        try updater(connection, schema).lock()
        connection.isEnclosed = true
        defer { connection.isEnclosed = false }
        try body()
      }
    } update: { (model, policies) throws(StoreError) in
      var updater = updater(connection, Schema(model, dialect: .postgres))
      updater.options.migratesAutomatically = true
      updater.policies = policies
      try updater.update()
    }
    try run.run(stages)
  }

  private func checkServer(_ connection: Connection) throws(StoreError) {
    let values = try connection.query(
      "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'), "
        + "current_setting('synchronous_commit')")
    guard values.integer(0, 0) >= 15_00_00 else {
      throw StoreError(
        .cannotOpen, "the server is older than PostgreSQL 15; upgrade it", path: connection.place)
    }
    guard values.text(0, 1) == "UTF8" else {
      throw StoreError(
        .cannotOpen, "the database has the encoding \(values.text(0, 1)); make one with the encoding UTF8",
        path: connection.place)
    }
    guard values.text(0, 2) != "off" else {
      throw StoreError(
        .cannotOpen, "synchronous_commit is off for this database or role, so that commits could be lost; set it to on",
        path: connection.place)
    }
  }

  /// True if the store is there; throws if the schema is something other than a store of ours.
  private func isPresent(_ connection: Connection) throws(StoreError) -> Bool {
    let tables = try connection.query(
      "SELECT count(*), count(*) FILTER (WHERE tablename = '_metadata'), "
        + "(SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1), current_user "
        + "FROM pg_tables WHERE schemaname = $1", [.text(options.schemaName)])
    if !tables.isNull(0, 2), tables.integer(0, 2) == 0 {
      throw StoreError(
        .cannotOpen,
        "the role \(tables.text(0, 3)) may not use the schema \(options.schemaName); its owner can GRANT USAGE ON SCHEMA",
        path: connection.place)
    }
    if tables.integer(0, 1) > 0 {
      let columns = try connection.query(
        "SELECT count(*) FROM information_schema.columns WHERE table_schema = $1 AND table_name = '_metadata' "
          + "AND column_name IN ('key', 'value')", [.text(options.schemaName)])
      if columns.integer(0, 0) == 2 { return true }
    } else if tables.integer(0, 0) == 0 {
      return false
    }
    throw StoreError(
      .notAStore,
      "the schema \(options.schemaName) of the database has tables of another program; choose another schema",
      path: connection.place)
  }

  /// Makes the tables, unless another host does so at the same time.
  private func create(_ updater: SchemaUpdater) throws(StoreError) {
    do throws(StoreError) { try updater.create() } catch {
      // The names are taken as soon as the other transaction is done.
      guard updater.connection.isUsable, try isPresent(updater.connection) else { throw error }
    }
  }

  private func checkFormat(_ connection: Connection) throws(StoreError) {
    guard let version = try metadata("format", connection).flatMap({ Int($0) }) else {
      throw StoreError(
        .notAStore, "the schema \(options.schemaName) of the database is of another program; choose another schema",
        path: connection.place)
    }
    guard version <= Self.formatVersion else {
      throw StoreError(
        .incompatibleModel,
        "the store has format \(version), of a newer release than this one, which reads up to \(Self.formatVersion)",
        path: connection.place)
    }
  }

  private func metadata(_ key: String, _ connection: Connection) throws(StoreError) -> String? {
    let found = try connection.query("SELECT value FROM _metadata WHERE key = $1", [.text(key)])
    return found.rowCount == 0 ? nil : found.text(0, 0)
  }
}
