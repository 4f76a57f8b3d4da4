import ObjectModel

/// A view of an entity's objects for other programs, in which values are as these expect them: dates as text of ISO 8601
/// or as moments of the database, decimals as numbers, UUIDs as text.
///
/// It stands on the table and costs nothing when that is written. No function of Swift's is in it.
package struct SchemaView: Sendable, Hashable {
  /// The beginning of the names of all views that a store makes.
  package static let prefix = "_view_"

  package let name: String
  /// Creates the view; what a store tells of a view that it has.
  package let sql: String

  fileprivate init(of entity: Entity, named name: String, in table: SchemaTable, _ dialect: Dialect) {
    self.name = name
    var columns = [SchemaName.key] + (table.tellsEntity ? [SchemaName.entity] : [])
    // By name, so that models in which the same properties stand in another order have the same view.
    let shown = entity.properties.filter { $0.isPersistent && !$0.isHidden }.sorted { $0.name < $1.name }
    for property in shown {
      columns.append("\(dialect.shown(property)) AS \(dialect.quoted(property.columnName))")
      if let entity = table.entityColumnName(of: property) { columns.append(SchemaName.quoted(entity)) }
    }
    var sql = """
      CREATE VIEW \(SchemaName.quoted(name)) AS SELECT
        \(columns.joined(separator: ",\n  "))
      FROM \(SchemaName.quoted(table.name))
      """
    if entity !== table.root {
      let family = entity.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
      sql += "\nWHERE \(SchemaName.entity) IN (\(family))"
    }
    self.sql = sql
  }
}

extension Schema {
  /// A view for each entity; none has the name of a table.
  package var views: [SchemaView] {
    let tables = tables.map(\.name) + linkTables.map(\.name)
    var free = ColumnNames(reserved: tables)
    let names = free.assignNames(Set(model.entities.map { dialect.name(SchemaView.prefix + $0.name) }))
    return model.entities.map { entity in
      let name = dialect.name(SchemaView.prefix + entity.name)
      return SchemaView(of: entity, named: names[name] ?? name, in: table(of: entity), dialect)
    }
  }
}

extension Dialect {
  /// The seconds from 1970, where databases begin, to 2001, where dates do.
  private static let epoch = 978_307_200

  /// The value of a stored property as other programs expect it.
  fileprivate func shown(_ property: Property) -> String {
    let column = SchemaName.quoted(columnName(of: property))
    guard let attribute = property.attribute else { return column }
    let isSQLite = callsSwift
    switch attribute.type {
    case .date where isSQLite:
      // A date beyond the years that SQLite can write stays a number.
      return "coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', \(column) + \(Self.epoch), 'unixepoch'), \(column))"
    case .date:
      // Beyond the years that PostgreSQL knows there is no moment.
      return "CASE WHEN \(column) BETWEEN -211000000000 AND 9000000000000 "
        + "THEN to_timestamp(\(column) + \(Self.epoch)) END"
    case .decimal where isSQLite: return "CAST(nullif(\(column), 'NaN') AS NUMERIC)"
    case .decimal: return "\(column)::numeric"
    case .uuid where isSQLite:
      let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)].map { "substr(hex(\(column)), \($0), \($1))" }
      return "CASE WHEN \(column) IS NOT NULL THEN lower(\(parts.joined(separator: " || '-' || "))) END"
    case .uuid: return "encode(\(column), 'hex')::uuid"
    case .boolean where !isSQLite: return "\(column) <> 0"
    case .binary, .transformable:
      guard let file = fileColumnName(of: property).map(SchemaName.quoted) else { return column }
      return "CASE WHEN \(file) IS NULL THEN \(column) ELSE \(largeValue(named: file)) END"
    default: return column
    }
  }
}

/// The difference between the views that a store has and those that it is to have.
package struct ViewChanges: Sendable {
  /// The names of views that go, in order.
  package let stale: [String]
  package let missing: [SchemaView]

  package var isEmpty: Bool { stale.isEmpty && missing.isEmpty }

  /// - Parameters:
  ///   - stored: the SQL of the views that the store has made, by name.
  ///   - makesViews: whether it is to have views if it has none.
  package init(of stored: [String: String], to schema: Schema, makesViews: Bool) {
    let wanted = makesViews || !stored.isEmpty ? schema.views : []
    let texts = Dictionary(uniqueKeysWithValues: wanted.map { ($0.name, $0.sql) })
    stale = stored.filter { texts[$0.key] != $0.value }.keys.sorted()
    missing = wanted.filter { stored[$0.name] != $0.sql }
  }
}
