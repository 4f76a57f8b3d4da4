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

  /// The changes that opening the store would make, a sentence for each, and whether all of them only add something;
  /// nothing is changed.
  ///
  /// - Throws: ``StoreError`` as opening would, but for what only a look at all rows shows.
  func changes() throws(StoreError) -> (changes: [String], onlyAdds: Bool) {
    try checkNames()
    let (connection, inspection) = try inspect()
    defer { connection.close() }
    if try !inspection.isPresent() { return (["the store is made"], true) }
    try inspection.checkFormat()
    return try updater(connection, schema).changes()
  }

  private func inspect() throws(StoreError) -> (Connection, StoreInspection) {
    let connection = try Connection(settings)
    let inspection = StoreInspection(connection: connection, schemaName: options.schemaName)
    try inspection.checkServer()
    return (connection, inspection)
  }

  /// Sees that tables and columns can have the names of entities and properties.
  private func checkNames() throws(StoreError) {
    if let clash = schema.nameClash {
      throw StoreError(
        .incompatibleModel,
        "\"\(clash)\" can't be a name in the database: it is reserved, or used twice if case is "
          + "ignored", path: settings.target.place)
    }
  }

  /// A connection to a store that fits the model, and the store's identifier.
  func open() throws(StoreError) -> (connection: Connection, identifier: UUID) {
    try checkNames()
    let (connection, inspection) = try inspect()
    let updater = updater(connection, schema)
    if try !inspection.isPresent() { try create(updater, inspection) }
    try inspection.checkFormat()
    if let stages = options.stagedMigration { try migrate(stages, connection) }
    try updater.update()
    if options.tracksHistory { try HistorySchema(connection: connection).create() }
    return (connection, try PostgresStore.identifier(connection))
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

  /// Makes the tables, unless another host does so at the same time.
  private func create(_ updater: SchemaUpdater, _ inspection: StoreInspection) throws(StoreError) {
    do throws(StoreError) { try updater.create() } catch {
      // The names are taken as soon as the other transaction is done.
      guard updater.connection.isUsable, try inspection.isPresent() else { throw error }
    }
  }
}
