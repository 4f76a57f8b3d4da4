package import ObjectModel

/// The tables of a model: one per family of entities.
package struct Schema: Sendable {
  package let model: ManagedObjectModel
  package let dialect: Dialect
  package let tables: [SchemaTable]
  /// The join tables, by the index of the model's.
  package let linkTables: [LinkTable]
  /// The place in `tables` of an entity's table, by the index of the entity.
  private let places: [Int]

  package init(_ model: ManagedObjectModel, dialect: Dialect = .sqlite) {
    self.model = model
    self.dialect = dialect
    let roots = model.entities.filter { $0.parent == nil }
    tables = roots.map { SchemaTable(root: $0, dialect: dialect) }
    linkTables = model.joinTables.map { LinkTable($0, dialect: dialect) }
    var placeOfRoot: [Int: Int] = [:]
    for (place, root) in roots.enumerated() { placeOfRoot[root.index] = place }
    places = model.entities.map { placeOfRoot[$0.root.index] ?? 0 }
  }

  /// The indexes of all tables.
  package var allIndexes: [SchemaTable.Index] { tables.flatMap(\.indexes) + linkTables.map(\.index) }

  /// The table of an entity's rows.
  package func table(of entity: Entity) -> SchemaTable { tables[places[entity.index]] }

  /// The tables of the store's own, and the beginnings of names that it or the database needs.
  private var reserved: Set<String> {
    let common: Set = ["_metadata", "_entity", "_keys", "_transaction", "_change"]
    if dialect == .sqlite { return common }
    return common.union(["_file", "_host", "_beat", "_session", "_lead", "_run", "_inbox"])
  }

  private var reservedPrefixes: [String] {
    // An unqualified name is looked for among PostgreSQL's own tables first.
    [dialect == .sqlite ? "sqlite_" : "pg_", "_new_", "_old_"]
  }

  /// The first name that can't be a table's, or that two tables or two columns of one table would share.
  package var nameClash: String? {
    let (reserved, reservedPrefixes) = (reserved, reservedPrefixes)
    var seen: Set<String> = []
    for table in tables {
      let name = table.name.asciiLowercased
      if reservedPrefixes.contains(where: name.hasPrefix) || reserved.contains(name) { return table.name }
      if !seen.insert(name).inserted { return table.name }
      if let clash = table.nameClash { return "\(table.name).\(clash)" }
    }
    for table in linkTables where !seen.insert(table.name.asciiLowercased).inserted { return table.name }
    return nil
  }
}

/// The names in SQL for names of the model.
package enum SchemaName {
  package static let key = "_key"
  package static let version = "_version"
  package static let entity = "_entity"

  /// The name in double quotes, so that it can be no keyword.
  package static func quoted(_ name: String) -> String {
    // Hardly any has one, and a search by characters takes longer than all else that a statement is made of.
    let hasQuotes = name.utf8.contains(UInt8(ascii: "\""))
    return "\"" + (hasQuotes ? name.replacing("\"", with: "\"\"") : name) + "\""
  }

  /// The name as a text literal.
  package static func literal(_ name: String) -> String {
    "'" + name.replacing("'", with: "''") + "'"
  }
}
