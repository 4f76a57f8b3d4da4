package import ObjectModel

/// The SQL of a join table: a row per link, with the keys of both objects.
///
/// The pair is the primary key, which finds links from the left; an index finds them from the right.
package struct LinkTable: Sendable {
  package let table: JoinTable
  private let dialect: Dialect

  init(_ table: JoinTable, dialect: Dialect) {
    self.table = table
    self.dialect = dialect
  }

  package var name: String { dialect.name(table.name) }

  /// The column with the place of the right object among those of the left one, if it has one.
  package var orderColumn: String? { table.isOrdered ? dialect.name("_order_" + table.rightColumn) : nil }

  /// The column with the place of the left object among those of the right one, if it has one.
  package var inverseOrderColumn: String? {
    table.isInverseOrdered && !table.isSymmetric ? dialect.name("_order_" + table.leftColumn) : nil
  }

  private var quotedName: String { SchemaName.quoted(name) }
  private var left: String { dialect.quoted(table.leftColumn) }
  private var right: String { dialect.quoted(table.rightColumn) }

  package var createSQL: String {
    let orders = [orderColumn, inverseOrderColumn].compactMap { $0 }.map {
      "  \(SchemaName.quoted($0)) \(dialect.keyType),\n"
    }
    if dialect == .postgres {
      // No REFERENCES: those of SQLite are for readers, and these would be enforced.
      return """
        CREATE TABLE \(quotedName) (
          \(left) \(dialect.keyType) NOT NULL,
          \(right) \(dialect.keyType) NOT NULL,
        \(orders.joined())  PRIMARY KEY (\(left), \(right))
        )
        """
    }
    return """
      CREATE TABLE \(quotedName) (
        \(left) INTEGER NOT NULL REFERENCES \(SchemaName.quoted(table.left.root.name)) (_key),
        \(right) INTEGER NOT NULL REFERENCES \(SchemaName.quoted(table.right.root.name)) (_key),
      \(orders.joined())  PRIMARY KEY (\(left), \(right))
      ) WITHOUT ROWID
      """
  }

  package var index: SchemaTable.Index {
    let name = dialect.name("_index_\(table.name).\(table.leftColumn)")
    return SchemaTable.Index(
      name: name, sql: "CREATE INDEX \(SchemaName.quoted(name)) ON \(quotedName) (\(right), \(left))")
  }

  /// Makes a link between objects that exist, or changes its places; parameters: keys and places, left first.
  package var insertSQL: String {
    var columns = [left, right]
    var values = ["?1", "?2"]
    var updates: [String] = []
    for (column, parameter) in [(orderColumn, "?3"), (inverseOrderColumn, "?4")] {
      guard let column = column.map(SchemaName.quoted) else { continue }
      columns.append(column)
      values.append(parameter)
      updates.append("\(column) = ifnull(excluded.\(column), \(column))")
    }
    let conflict = updates.isEmpty ? "NOTHING" : "UPDATE SET " + updates.joined(separator: ", ")
    return """
      INSERT INTO \(quotedName) (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) \
      WHERE EXISTS (SELECT 1 FROM \(SchemaName.quoted(table.left.root.name)) WHERE _key = ?1) \
      AND EXISTS (SELECT 1 FROM \(SchemaName.quoted(table.right.root.name)) WHERE _key = ?2) \
      ON CONFLICT (\(left), \(right)) DO \(conflict)
      """
  }

  package var hasOrder: Bool { orderColumn != nil }
  package var hasInverseOrder: Bool { inverseOrderColumn != nil }

  package var deleteSQL: String { "DELETE FROM \(quotedName) WHERE \(left) = ?1 AND \(right) = ?2" }

  /// Returns SQL that removes the links of a deleted object of a family; the parameter is its key.
  package func deleteAllSQL(of root: Entity) -> String? {
    var conditions: [String] = []
    if table.left.root === root { conditions.append("\(left) = ?1") }
    if table.right.root === root { conditions.append("\(right) = ?1") }
    return conditions.isEmpty ? nil : "DELETE FROM \(quotedName) WHERE \(conditions.joined(separator: " OR "))"
  }

  /// Selects key, place and, in a hierarchy, entity of the objects that an object is linked to, if they exist.
  package func selectSQL(_ property: Property, isLimited: Bool = false) -> String {
    let (own, other) = property.isLeftEnd ? (left, right) : (right, left)
    let destination = property.isLeftEnd ? table.right : table.left
    let order = (property.isLeftEnd ? orderColumn : inverseOrderColumn).map { "l.\(SchemaName.quoted($0))" }
    let first =
      " ORDER BY \(order.map { "\($0) NULLS FIRST, " } ?? "")l.\(other) LIMIT \(dialect.parameter(2))"
    let entity = destination.isInHierarchy ? ", d.\(SchemaName.entity)" : ""
    return "SELECT l.\(other), \(order ?? "NULL")\(entity) FROM \(quotedName) AS l "
      + "JOIN \(dialect.quoted(destination.root.name)) AS d ON d._key = l.\(other) "
      + "WHERE l.\(own) = \(dialect.parameter(1))" + (isLimited ? first : "")
  }
}
