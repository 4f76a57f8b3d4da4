import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Makes the tables of a new store, and brings those of an old one to the model.
struct SchemaUpdater {
  let connection: Connection
  let schema: Schema
  let files: ExternalFiles
  let options: SQLiteStoreOptions
  /// Code for entities whose objects can't be inferred.
  var policies: [EntityMigrationPolicy] = []

  /// Makes everything in one transaction.
  func create() throws(StoreError) {
    try connection.transaction { () throws(StoreError) in
      try connection.control("CREATE TABLE _metadata (key TEXT PRIMARY KEY, value) WITHOUT ROWID")
      try connection.control(
        "CREATE TABLE _entity (name TEXT PRIMARY KEY, root TEXT NOT NULL, hash TEXT NOT NULL, properties TEXT NOT NULL)"
          + " WITHOUT ROWID")
      try connection.control("CREATE TABLE _keys (root TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID")
      try setMetadata("uuid", UUID().uuidString)
      try setMetadata("format", String(StoreOpener.formatVersion))
      try add(schema.model.entities)
    }
  }

  /// Brings tables and indexes in line with the model, in one transaction.
  ///
  /// - Throws: ``StoreError`` that names what can't be inferred; the store is as it was then.
  func update() throws(StoreError) {
    let stored = try StoredModel(connection)
    if stored.fits(schema.model), stored.definition != nil, try staleIndexes().isEmpty, try missingIndexes().isEmpty,
      try missingTriggers().isEmpty, try viewChanges().isEmpty
    {
      return
    }
    try connection.transaction { () throws(StoreError) in
      // Read again: another process may have done it meanwhile.
      let stored = try StoredModel(connection)
      if stored.fits(schema.model) { return try add([]) }
      try migrate(stored)
    }
  }

  /// Returns the migration and the stored model; nil if the store does not tell its model and only lacks entities.
  ///
  /// - Throws: ``StoreError`` that names what is in the way.
  func proposal(
    _ stored: StoredModel
  ) throws(StoreError) -> (source: ManagedObjectModel, proposal: MigrationProposal)? {
    guard options.migratesAutomatically else {
      throw incompatible("\(difference(stored)). Migrating is switched off for this store")
    }
    guard let source = try stored.model(place: connection.path) else {
      // Stores of the first releases do not keep their model; what is new can be added nevertheless.
      if let changed = stored.changedEntities(in: schema.model).first {
        throw incompatible(
          "\(Self.difference(stored.entity(changed.name)?.properties ?? "", changed)). The store does not tell its model, so "
            + "it can't be migrated; open it once with the model it was made with")
      }
      return nil
    }
    var choices = options.migrationInstructions?.choices(from: source.versionHash) ?? MigrationChoices()
    choices.statements += policies.flatMap(\.statements)
    let proposal = try MigrationProposal(
      stored, source, to: schema, choices: choices, keeping: policies.map(\.source), database: database)
    if let refusal = proposal.refusal(instructions: options.migrationInstructions?.file) { throw incompatible(refusal) }
    return (source, proposal)
  }

  private func migrate(_ stored: StoredModel) throws(StoreError) {
    guard let (source, proposal) = try proposal(stored) else {
      return try add(schema.model.entities.filter { stored.entity($0.name) == nil })
    }
    // SQLite renames no table while a view stands on one that is not there.
    let views = try storedViews().keys
    for name in views { try connection.control("DROP VIEW \(SchemaName.quoted(name))") }
    let export = RowExport(
      connection: connection, schema: proposal.plan.source, files: files, hash: source.versionHash)
    for name in proposal.plan.mapping.choices.exports {
      if let entity = source.entitiesByName[name] { try export.run(entity) }
    }
    try proposal.run(on: database, keepsLostFamilies: options.keepsRemovedEntities)
    do throws(StoreError) { try add(schema.model.entities, hadViews: !views.isEmpty) } catch
      where error.code == .constraint
    {
      throw incompatible("\(error.message), which the model demands now")
    }
    try DerivedColumns(schema.model, coordinatorOrdinal: 0).computeAll(connection)
    if policies.isEmpty { return }
    try PolicyRun(policies, proposal.plan, on: database).run()
  }

  private var database: SQLiteMigrationDatabase {
    SQLiteMigrationDatabase(connection: connection, files: files, options: options)
  }

  private func incompatible(_ text: String) -> StoreError {
    StoreError(.incompatibleModel, "the store was made with another model: \(text)", path: connection.path)
  }

  private func difference(_ stored: StoredModel) -> String {
    if let changed = stored.changedEntities(in: schema.model).first {
      return Self.difference(stored.entity(changed.name)?.properties ?? "", changed)
    }
    let names = Set(schema.model.entities.map(\.name))
    let added = names.subtracting(stored.names).sorted().map { "\($0) is new" }
    let removed = stored.names.subtracting(names).sorted().map { "\($0) is missing" }
    return (added + removed).joined(separator: ", ")
  }

  /// - Parameter hadViews: whether there were views before the tables were changed.
  private func add(_ entities: [Entity], hadViews: Bool = false) throws(StoreError) {
    let present = Set(entities.map(\.name))
    for table in schema.tables {
      let columns = try columns(of: table)
      if columns.isEmpty {
        guard table.members.allSatisfy({ present.contains($0.name) }) else {
          throw StoreError(
            .corrupt, "the table \(table.name) is missing; restore the store from a backup", path: connection.path)
        }
        try connection.control(table.createSQL)
      } else {
        for column in table.columnNames where !columns.contains(column) {
          try connection.control(table.addColumnSQL(column))
        }
      }
    }
    let stored = try tableNames()
    for table in schema.linkTables where !stored.contains(table.name) { try connection.control(table.createSQL) }
    for name in try staleIndexes() { try connection.control("DROP INDEX \(SchemaName.quoted(name))") }
    for index in try missingIndexes() { try connection.control(index.sql) }
    for trigger in try missingTriggers() { try connection.control(trigger.sql) }
    let views = try viewChanges(hadViews: hadViews)
    for name in views.stale { try connection.control("DROP VIEW \(SchemaName.quoted(name))") }
    for view in views.missing { try connection.control(view.sql) }
    for entity in entities {
      try connection.control("INSERT OR REPLACE INTO _entity VALUES (?1, ?2, ?3, ?4)") { statement in
        statement.bindCopy(entity.name, 1)
        statement.bindCopy(entity.root.name, 2)
        statement.bindCopy(entity.versionHash.description, 3)
        statement.bindCopy(Self.properties(of: entity), 4)
      }
    }
    try setMetadata("model", schema.model.versionHash.description)
    try setMetadata(StoredModel.definitionKey, ModelText.xml(schema.model))
  }

  func setMetadata(_ key: String, _ value: String) throws(StoreError) {
    try connection.control("INSERT OR REPLACE INTO _metadata VALUES (?1, ?2)") { statement in
      statement.bindCopy(key, 1)
      statement.bindCopy(value, 2)
    }
  }

  private func tableNames() throws(StoreError) -> Set<String> {
    var names: Set<String> = []
    try connection.runControl("SELECT name FROM sqlite_master WHERE type = 'table'") { statement in
      names.insert(statement.text(0))
      return true
    }
    return names
  }

  private func columns(of table: SchemaTable) throws(StoreError) -> Set<String> {
    var columns: Set<String> = []
    try connection.runControl("PRAGMA table_info(\(SchemaName.quoted(table.name)))") { statement in
      columns.insert(statement.text(1))
      return true
    }
    return columns
  }

  /// The SQL of our indexes in the store, by name.
  private func indexes() throws(StoreError) -> [String: String] {
    var indexes: [String: String] = [:]
    try connection.runControl(
      "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND name LIKE '\\_%' ESCAPE '\\'"
    ) { statement in
      indexes[statement.text(0)] = statement.text(1)
      return true
    }
    return indexes
  }

  private func missingIndexes() throws(StoreError) -> [SchemaTable.Index] {
    let stored = try indexes()
    return schema.allIndexes.filter { stored[$0.name] != $0.sql }
  }

  private func missingTriggers() throws(StoreError) -> [SchemaTable.Trigger] {
    var stored: Set<String> = []
    try connection.runControl("SELECT name FROM sqlite_master WHERE type = 'trigger'") { statement in
      stored.insert(statement.text(0))
      return true
    }
    return schema.tables.map(\.versionTrigger).filter { !stored.contains($0.name) }
  }

  /// The SQL of our views in the store, by name.
  private func storedViews() throws(StoreError) -> [String: String] {
    var views: [String: String] = [:]
    try connection.runControl("SELECT name, sql FROM sqlite_master WHERE type = 'view'") { statement in
      views[statement.text(0)] = statement.text(1)
      return true
    }
    return views.filter { $0.key.hasPrefix(SchemaView.prefix) }
  }

  private func viewChanges(hadViews: Bool = false) throws(StoreError) -> ViewChanges {
    ViewChanges(of: try storedViews(), to: schema, makesViews: options.makesViews || hadViews)
  }

  /// Indexes of the model's tables that it defines no longer or otherwise; those of unknown tables stay.
  private func staleIndexes() throws(StoreError) -> [String] {
    let wanted = Dictionary(uniqueKeysWithValues: schema.allIndexes.map { ($0.name, $0.sql) })
    let tables = (schema.tables.map(\.name) + schema.linkTables.map(\.name)).map { " ON \(SchemaName.quoted($0)) (" }
    return try indexes().filter { name, sql in
      wanted[name] != sql && tables.contains { sql.contains($0) }
    }.map(\.key)
  }

  /// A line per property, for messages about what differs.
  private static func properties(of entity: Entity) -> String {
    entity.properties.map { property in
      switch property.kind {
      case .attribute(let attribute):
        "\(property.name): \(attribute.type.rawValue)\(attribute.isOptional ? ", optional" : "")"
          + (attribute.isTransient ? ", transient" : "")
      case .relationship(let relationship):
        "\(property.name): to-\(relationship.isToMany ? "many" : "one") \(relationship.destinationEntity)"
      }
    }.sorted().joined(separator: "\n")
  }

  private static func difference(_ stored: String, _ entity: Entity) -> String {
    let old = Set(stored.split(separator: "\n").map(String.init))
    let new = Set(properties(of: entity).split(separator: "\n").map(String.init))
    let parts =
      old.subtracting(new).sorted().map { "had \"\($0)\"" } + new.subtracting(old).sorted().map { "has now \"\($0)\"" }
    let what =
      parts.isEmpty ? "its inheritance, constraints or relationships' rules differ" : parts.joined(separator: ", ")
    return "the entity \(entity.name): \(what)"
  }
}

extension StoredModel {
  /// Reads what the store tells of its model.
  init(_ connection: Connection) throws(StoreError) {
    let definition = try connection.controlResult(
      "SELECT value FROM _metadata WHERE key = '\(Self.definitionKey)'"
    ) { $0.text(0) }
    var entities: [StoredEntity] = []
    try connection.runControl("SELECT name, root, hash, properties FROM _entity") { statement in
      entities.append(
        StoredEntity(
          statement.text(0), root: statement.text(1), hash: statement.text(2), properties: statement.text(3)))
      return true
    }
    self.init(entities, definition: definition)
  }
}
