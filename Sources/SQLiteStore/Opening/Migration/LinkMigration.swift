import ObjectModel
import SQLGeneration
import StoreInterface

/// Brings the links of many-to-many relationships from one model to another: from join tables, and from to-one
/// relationships that are to-many now.
struct LinkMigration {
  let connection: Connection
  let plan: MigrationPlan

  private static func collection(_ table: LinkTable) -> String { SchemaName.quoted("_new_\(table.name)") }

  /// Collects the links while the old tables are there.
  func collect() throws(StoreError) {
    for table in plan.destination.linkTables {
      let name = Self.collection(table)
      try connection.control(
        "CREATE TABLE \(name) (l INTEGER, r INTEGER, o INTEGER, i INTEGER, PRIMARY KEY (l, r)) WITHOUT ROWID")
      let left = sources(of: table.table.relationship, table.table.left)
      let right = table.table.inverse.map { sources(of: $0, table.table.right) } ?? []
      for source in left { try copy(source, "(l, r, o)", into: name) }
      for source in right { try copy(source, "(r, l, i)", into: name) }
      if table.table.isSymmetric {
        try connection.control("INSERT OR IGNORE INTO \(name) (l, r) SELECT r, l FROM \(name)")
      }
    }
  }

  private func copy(_ select: String, _ columns: String, into name: String) throws(StoreError) {
    let place = columns.contains("o") ? "o" : "i"
    try connection.control(
      "INSERT INTO \(name) \(columns) \(select) ON CONFLICT (l, r) DO UPDATE SET \(place) = excluded.\(place)")
  }

  /// Removes the old join tables; those between families that are kept stay.
  func dropOldTables(keepsLostFamilies: Bool) throws(StoreError) {
    for table in plan.source.linkTables {
      let isUsed = [table.table.left, table.table.right].contains { side in
        side.root.withDescendants.contains { plan.mapping.successor(of: $0) != nil }
      }
      if !isUsed && keepsLostFamilies { continue }
      try connection.control("DROP TABLE IF EXISTS \(SchemaName.quoted(table.name))")
    }
  }

  /// Makes the join tables of the links that were collected, if both ends are there.
  func finish() throws(StoreError) {
    for table in plan.destination.linkTables {
      let join = table.table
      var columns = [join.leftColumn, join.rightColumn]
      var values = ["l", "r"]
      if table.hasOrder { (columns, values) = (columns + ["_order_" + join.rightColumn], values + ["o"]) }
      if table.hasInverseOrder { (columns, values) = (columns + ["_order_" + join.leftColumn], values + ["i"]) }
      let name = Self.collection(table)
      try connection.control("DROP TABLE IF EXISTS \(SchemaName.quoted(table.name))")
      try connection.control(table.createSQL)
      if try !hasTables(join) {
        try connection.control("DROP TABLE \(name)")
        continue
      }
      try connection.control(
        """
        INSERT INTO \(SchemaName.quoted(table.name)) (\(columns.map(SchemaName.quoted).joined(separator: ", "))) \
        SELECT \(values.joined(separator: ", ")) FROM \(name) \
        WHERE l IN (SELECT _key FROM \(SchemaName.quoted(join.left.root.name))) \
        AND r IN (SELECT _key FROM \(SchemaName.quoted(join.right.root.name)))
        """)
      try connection.control("DROP TABLE \(name)")
    }
  }

  /// True if the tables of both ends exist already; those of new families are made later.
  private func hasTables(_ join: JoinTable) throws(StoreError) -> Bool {
    for root in [join.left.root, join.right.root] {
      let found = try connection.controlResult(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = \(SchemaName.literal(root.name))"
      ) { _ in true }
      if found != true { return false }
    }
    return true
  }

  /// Queries for the links of a relationship in the old tables: the owner's key, the destination's, and the place.
  private func sources(of name: String, _ owner: Entity) -> [String] {
    var selects: [String] = []
    for entity in owner.withDescendants {
      guard let property = entity.property(named: name), let origin = plan.mapping.linkOrigin(of: property, in: entity),
        let former = plan.mapping.entities[entity.index], let formerDestination = origin.destination,
        let destination = property.destination
      else { continue }
      let own = plan.offset(from: former, to: entity)
      let other = plan.offset(from: formerDestination, to: destination)
      guard let select = select(origin, former, own: own, other: other), !selects.contains(select) else { continue }
      selects.append(select)
    }
    return selects
  }

  private func select(_ origin: Property, _ owner: Entity, own: Int64, other: Int64) -> String? {
    func term(_ column: String, _ offset: Int64) -> String {
      SchemaName.quoted(column) + (offset == 0 ? "" : " + \(offset)")
    }
    if let join = origin.joinTable {
      let (near, far) =
        origin.isLeftEnd ? (join.leftColumn, join.rightColumn) : (join.rightColumn, join.leftColumn)
      let isOrdered = origin.isLeftEnd ? join.isOrdered : join.isInverseOrdered && !join.isSymmetric
      let order = isOrdered ? SchemaName.quoted("_order_" + far) : "NULL"
      return "SELECT \(term(near, own)), \(term(far, other)), \(order) FROM \(SchemaName.quoted(join.name)) WHERE 1"
    }
    if origin.storage == .reference, origin.isPersistent {
      let table = plan.source.table(of: owner)
      let condition = table.tellsEntity ? " AND _entity = \(SchemaName.literal(owner.name))" : ""
      return
        "SELECT \(term("_key", own)), \(term(origin.columnName, other)), NULL FROM \(SchemaName.quoted(table.name)) "
        + "WHERE \(SchemaName.quoted(origin.columnName)) IS NOT NULL\(condition)"
    }
    guard let inverse = origin.inverse, inverse.storage == .reference, let destination = origin.destination else {
      return nil
    }
    let order = inverse.orderProperty.map { SchemaName.quoted($0.columnName) } ?? "NULL"
    let table = SchemaName.quoted(plan.source.table(of: destination).name)
    return "SELECT \(term(inverse.columnName, own)), \(term("_key", other)), \(order) FROM \(table) "
      + "WHERE \(SchemaName.quoted(inverse.columnName)) IS NOT NULL"
  }
}

/// Lets the history of a store name its objects as the new model does: entities are renamed, and keys change where
/// several tables become one. Names of properties stay those of their time; changes of entities that are no more go.
struct HistoryMigration {
  let connection: Connection
  let plan: MigrationPlan

  func run(keepsLostFamilies: Bool) throws(StoreError) {
    guard try HistorySchema(connection: connection).isPresent else { return }
    var names: [String] = []
    var offsets: [String] = []
    var lost: [String] = []
    for origin in plan.mapping.source.entities {
      let name = SchemaName.literal(origin.name)
      guard let entity = plan.mapping.successor(of: origin) else {
        lost.append(name)
        continue
      }
      if entity.name != origin.name { names.append("WHEN \(name) THEN \(SchemaName.literal(entity.name))") }
      let offset = plan.offset(from: origin, to: entity)
      if offset != 0 { offsets.append("WHEN \(name) THEN \(offset)") }
    }
    if !lost.isEmpty && !keepsLostFamilies {
      try connection.control("DELETE FROM _change WHERE entity IN (\(lost.joined(separator: ", ")))")
    }
    if names.isEmpty && offsets.isEmpty { return }
    let entity = names.isEmpty ? "entity" : "CASE entity \(names.joined(separator: " ")) ELSE entity END"
    let offset = offsets.isEmpty ? "0" : "CASE entity \(offsets.joined(separator: " ")) ELSE 0 END"
    // Every expression sees the old row, so that names can be exchanged.
    try connection.control(
      "UPDATE _change SET entity = \(entity), first = first + \(offset), last = last + \(offset)")
  }
}
