import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Makes the tables of a new store, and brings those of an old one to the model.
struct SchemaUpdater {
  let connection: Connection
  let schema: Schema
  let options: PostgresStoreOptions

  /// Makes everything in one transaction.
  func create() throws(StoreError) {
    try connection.transaction { () throws(StoreError) in
      try connection.control("CREATE SCHEMA IF NOT EXISTS \(SchemaName.quoted(options.schemaName))")
      let tables = [
        #"_metadata (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)"#,
        #"_entity (name text COLLATE "C" PRIMARY KEY, root text NOT NULL, hash text NOT NULL)"#,
        #"_keys (root text COLLATE "C" PRIMARY KEY, next bigint NOT NULL)"#,
      ]
      for table in tables { try connection.control("CREATE TABLE \(table)") }
      for sql in LargeValues.createSQL { try connection.control(sql) }
      try setMetadata("uuid", UUID().uuidString)
      try setMetadata("format", String(StoreOpener.formatVersion))
      try add()
    }
  }

  /// Brings tables and indexes in line with the model, in one transaction and by one host at a time.
  ///
  /// - Throws: ``StoreError`` that names what is more than an addition; the store is as it was then.
  func update() throws(StoreError) {
    if try StoredModel(connection).fits(schema.model), try missingIndexes().isEmpty { return }
    try connection.transaction { () throws(StoreError) in
      // Whoever comes second waits here, and finds the work done.
      _ = try connection.query("SELECT value FROM _metadata WHERE key = 'format' FOR UPDATE")
      let stored = try StoredModel(connection)
      if stored.fits(schema.model) { return try add() }
      guard options.migratesAutomatically else {
        throw StoreError(
          .incompatibleModel, "the store was made with another model, and migrating is switched off for this store",
          path: connection.place)
      }
      let migration = try AdditiveMigration(
        from: try stored.model(place: connection.place), to: schema.model, place: connection.place)
      try add(migration)
      try DerivedColumns(schema, coordinatorOrdinal: 0).computeAll(connection)
    }
  }

  private func add(_ migration: AdditiveMigration? = nil) throws(StoreError) {
    let present = try names("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    for table in schema.tables {
      if !present.contains(table.name) {
        try connection.control(table.createSQL)
        try connection.control(table.versionTrigger.sql)
        continue
      }
      let columns = try names(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1",
        [.text(table.name)])
      for column in table.columnNames where !columns.contains(column) {
        try connection.control(table.addColumnSQL(column))
      }
    }
    for table in schema.linkTables where !present.contains(table.name) { try connection.control(table.createSQL) }
    if let migration { try fill(migration) }
    for name in try staleIndexes() { try connection.control("DROP INDEX \(SchemaName.quoted(name))") }
    for index in try missingIndexes() {
      do throws(StoreError) { try connection.control(index.sql) } catch  where error.code == .constraint {
        throw StoreError(
          .incompatibleModel, "the model demands unique values now, and the store has objects with the same ones",
          path: connection.place, detail: error.detail)
      }
      // The server tells an index in words of its own, so the text that made it is kept beside it.
      try connection.control(
        "COMMENT ON INDEX \(SchemaName.quoted(index.name)) IS \(SchemaName.literal(index.sql))")
    }
    try connection.control("DELETE FROM _entity")
    for entity in schema.model.entities {
      _ = try connection.query(
        "INSERT INTO _entity (name, root, hash) VALUES ($1, $2, $3)",
        [.text(entity.name), .text(entity.root.name), .text(entity.versionHash.description)])
    }
    try setMetadata("model", schema.model.versionHash.description)
    try setMetadata(StoredModel.definitionKey, ModelText.xml(schema.model))
  }

  /// Gives the rows that are there the defaults of new attributes.
  private func fill(_ migration: AdditiveMigration) throws(StoreError) {
    for step in migration.defaults {
      guard let property = step.entity.property(named: step.column) else { continue }
      let table = schema.table(of: step.entity)
      let family = step.entity.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
      let condition = table.tellsEntity ? " AND _entity IN (\(family))" : ""
      let column = SchemaName.quoted(table.columnName(of: property))
      _ = try connection.query(
        "UPDATE \(SchemaName.quoted(table.name)) SET \(column) = $1 WHERE \(column) IS NULL\(condition)",
        [SQLBinding(step.value.converted(to: step.type) ?? .null, as: step.type)])
    }
  }

  func setMetadata(_ key: String, _ value: String) throws(StoreError) {
    _ = try connection.query(
      "INSERT INTO _metadata (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      [.text(key), .text(value)])
  }

  private func names(_ sql: String, _ bindings: [SQLBinding] = []) throws(StoreError) -> Set<String> {
    let result = try connection.query(sql, bindings)
    return Set((0..<result.rowCount).map { result.text($0, 0) })
  }

  /// The SQL of our indexes in the store, by name.
  private func indexes() throws(StoreError) -> [String: String] {
    let result = try connection.query(
      "SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        + "WHERE c.relkind = 'i' AND n.nspname = current_schema() AND obj_description(c.oid, 'pg_class') IS NOT NULL")
    var indexes: [String: String] = [:]
    for row in 0..<result.rowCount { indexes[result.text(row, 0)] = result.text(row, 1) }
    return indexes
  }

  private func missingIndexes() throws(StoreError) -> [SchemaTable.Index] {
    let stored = try indexes()
    return schema.allIndexes.filter { stored[$0.name] != $0.sql }
  }

  /// The indexes that the model defines no longer, or otherwise.
  private func staleIndexes() throws(StoreError) -> [String] {
    let wanted = Dictionary(uniqueKeysWithValues: schema.allIndexes.map { ($0.name, $0.sql) })
    return try indexes().filter { wanted[$0.key] != $0.value }.map(\.key)
  }
}
