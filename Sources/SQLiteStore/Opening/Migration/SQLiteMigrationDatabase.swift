import ObjectModel
import SQLGeneration
import StoreInterface

/// A store's file in the middle of a migration; SQL calls Swift's functions to convert values.
struct SQLiteMigrationDatabase: MigrationDatabase {
  let connection: Connection
  let files: ExternalFiles
  let options: SQLiteStoreOptions

  var dialect: Dialect { .sqlite }
  var place: String { connection.path }

  func run(_ sql: String, _ bindings: [SQLBinding]) throws(StoreError) {
    try connection.control(sql) { $0.bind(bindings) }
  }

  func rows(_ sql: String) throws(StoreError) -> [[SQLBinding]] {
    var rows: [[SQLBinding]] = []
    try connection.runControl(sql) { statement in
      rows.append(statement.values)
      return true
    }
    return rows
  }

  func hasTable(_ name: String) throws(StoreError) -> Bool {
    try !rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = \(SchemaName.literal(name))").isEmpty
  }

  func dropIndexes(of table: SchemaTable) throws(StoreError) {
    let parts = try rows(
      "SELECT type, name FROM sqlite_master WHERE tbl_name = \(SchemaName.literal(table.name)) "
        + "AND type IN ('index', 'trigger') AND sql IS NOT NULL")
    for part in parts {
      guard case .text(let type) = part[0], case .text(let name) = part[1] else { continue }
      try run("DROP \(type) \(SchemaName.quoted(name))", [])
    }
  }

  func prepare(_ conversions: [ColumnConversion]) {}

  /// Moves values that lie in files into the row; files that nothing leads to are swept when the store is opened.
  func settleLargeValues(_ plan: MigrationPlan) throws(StoreError) {
    for table in plan.tables {
      for entity in table.contributions.map(\.entity) {
        for property in entity.properties where property.storage == .blob && property.isPersistent {
          let former = plan.mapping.origin(of: property, in: entity)?.attribute
          guard former?.allowsExternalBinaryDataStorage == true,
            property.attribute?.allowsExternalBinaryDataStorage == false
          else { continue }
          try moveFilesIntoRows(table.table.name, property, of: entity)
        }
      }
    }
  }

  private func moveFilesIntoRows(_ table: String, _ property: Property, of entity: Entity) throws(StoreError) {
    let name = SchemaName.quoted(table)
    let column = SchemaName.quoted(property.columnName)
    let found = try rows("SELECT _key, \(column) FROM \(name) WHERE typeof(\(column)) = 'text'")
    for row in found {
      guard case .text(let file) = row[1] else { continue }
      let bytes: [UInt8]
      do { bytes = Array(try files.blob(named: file).load()) } catch {
        throw StoreError(
          .incompatibleModel,
          "the store can't be migrated to the model: a value of \(entity.name).\(property.name) can't be read from its "
            + "file: \(error)", path: connection.path)
      }
      try run("UPDATE \(name) SET \(column) = ?2 WHERE _key = ?1", [row[0], .blob(bytes)])
    }
  }

  func formerRows(
    of entity: Entity, in schema: Schema, table: String, after key: Int64, limit: Int, ordinal: UInt32
  ) throws(StoreError) -> [(key: Int64, row: Row)] {
    let columns = schema.table(of: entity).columnNames
    let decoder = RowDecoder(entity, columns: columns, model: schema.model, files: files)
    let condition =
      schema.table(of: entity).tellsEntity ? " AND _entity = \(SchemaName.literal(entity.name))" : ""
    var found: [(key: Int64, row: Row)] = []
    try connection.run(
      """
      SELECT \(columns.map(SchemaName.quoted).joined(separator: ", ")) FROM \(SchemaName.quoted(table)) \
      WHERE _key > ?1\(condition) ORDER BY _key LIMIT \(limit)
      """, { $0.bind(key, 1) }
    ) { statement in
      found.append((statement.integer(0), decoder.row(statement, ordinal: ordinal).row))
      return true
    }
    return found
  }

  func store(_ model: ManagedObjectModel) -> MigratingStore {
    var options = options
    options.noticesOtherWriters = false
    return MigratingStore(model, place: connection.path) { [connection, options] (ordinal) throws(StoreError) in
      try SQLiteStore(within: connection, model: model, coordinatorOrdinal: ordinal, options: options)
    }
  }
}
