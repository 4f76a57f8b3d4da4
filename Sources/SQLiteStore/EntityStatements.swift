import ObjectModel
import SQLGeneration

/// What is needed to write rows of one entity.
final class EntityStatements: Sendable {
  let table: SchemaTable
  let entity: Entity
  let insertSQL: InsertSQL
  let updateSQL: String
  /// Makes a row's unique values nil, so that others can have them; parameter: the key. Nil if it has none.
  let freeUniqueSQL: String?
  let insert: RowBinder
  let update: RowBinder
  /// Selects what the columns with external values of a row hold: the name of a file, or null; nil if there are none.
  let filesSQL: String?

  init(_ entity: Entity, table: SchemaTable, names: EntityNames) {
    let properties = entity.properties.filter(\.isPersistent)
    self.table = table
    self.entity = entity
    insertSQL = InsertSQL(table, entity, properties)
    updateSQL = table.updateSQL(properties)
    freeUniqueSQL = table.freeUniqueSQL(entity)
    insert = RowBinder(properties, firstParameter: 2, names: names)
    update = RowBinder(properties, firstParameter: 3, names: names)
    let external = properties.filter { $0.storage == .blob }
    if external.contains(where: { $0.attribute?.allowsExternalBinaryDataStorage == true }) {
      let columns = external.map { property in
        let column = SchemaName.quoted(property.columnName)
        return "CASE WHEN typeof(\(column)) = 'text' THEN \(column) END"
      }
      filesSQL = "SELECT \(columns.joined(separator: ", ")) FROM \(SchemaName.quoted(table.name)) WHERE _key = ?1"
    } else {
      filesSQL = nil
    }
  }
}
