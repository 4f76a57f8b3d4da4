import ObjectModel
package import StoreInterface

/// Looks for what contradicts itself in a store's tables: rows, references and links.
package struct SchemaAudit {
  private let schema: Schema
  private let count: (_ rest: String) throws(StoreError) -> Int64

  /// - Parameter count: runs `SELECT count(*)` with the rest of a statement.
  package init(_ schema: Schema, count: @escaping (_ rest: String) throws(StoreError) -> Int64) {
    self.schema = schema
    self.count = count
  }

  /// Each contradiction in a sentence, without values.
  package func findings() throws(StoreError) -> [String] { try rows() + references() + links() }

  private func rows() throws(StoreError) -> [String] {
    var findings: [String] = []
    for table in schema.tables {
      if try count("FROM \(SchemaName.quoted(table.name)) WHERE _version < 1") > 0 {
        findings.append("\(table.name) has rows without a version")
      }
    }
    return findings
  }

  /// A relationship whose inverse clears it leads to an object that exists.
  private func references() throws(StoreError) -> [String] {
    var findings: [String] = []
    for table in schema.tables {
      for property in table.members.flatMap(\.properties) where property.storage == .reference && property.isPersistent
      {
        guard let destination = property.destination, let rule = property.inverse?.relationship?.deleteRule,
          rule == .nullify || rule == .cascade
        else { continue }
        let column = SchemaName.quoted(table.columnName(of: property))
        let dangling = try count(
          "FROM \(SchemaName.quoted(table.name)) AS r WHERE \(column) IS NOT NULL AND NOT EXISTS "
            + "(SELECT 1 FROM \(schema.dialect.quoted(destination.root.name)) AS d WHERE d._key = r.\(column))")
        if dangling > 0 { findings.append("\(dangling) of \(table.name).\(property.name) lead nowhere") }
      }
    }
    return findings
  }

  /// Both ends of a link exist, and a link that is its own inverse has its twin.
  private func links() throws(StoreError) -> [String] {
    var findings: [String] = []
    for links in schema.linkTables {
      let (table, name) = (links.table, SchemaName.quoted(links.name))
      let (left, right) = (schema.dialect.quoted(table.leftColumn), schema.dialect.quoted(table.rightColumn))
      for (column, end) in [(left, table.left), (right, table.right)] {
        let other = schema.dialect.quoted(end.root.name)
        let dangling = try count(
          "FROM \(name) AS l WHERE NOT EXISTS (SELECT 1 FROM \(other) AS d WHERE d._key = l.\(column))")
        if dangling > 0 { findings.append("\(dangling) links of \(links.name) lead nowhere by \(column)") }
      }
      guard table.isSymmetric else { continue }
      let single = try count(
        "FROM \(name) AS l WHERE NOT EXISTS "
          + "(SELECT 1 FROM \(name) AS t WHERE t.\(left) = l.\(right) AND t.\(right) = l.\(left))")
      if single > 0 { findings.append("\(single) links of \(links.name) lead one way only") }
    }
    return findings
  }
}
