import ObjectModel
import StoreInterface

/// Brings the links of many-to-many relationships from one model to another: from join tables, and from to-one
/// relationships that are to-many now.
struct LinkMigration {
  let database: any MigrationDatabase
  let plan: MigrationPlan

  private var dialect: Dialect { plan.dialect }

  private func collection(_ table: LinkTable) -> String { dialect.quoted("_new_\(table.table.name)") }

  /// True if a join table stays as it is: with its columns, its objects and their keys.
  private func isUnchanged(_ table: LinkTable) -> Bool {
    guard dialect.changesColumnsInPlace, let old = plan.source.linkTables.first(where: { $0.name == table.name }),
      old.createSQL == table.createSQL,
      [old.table.left, old.table.right].flatMap(\.withDescendants).allSatisfy({ plan.mapping.successor(of: $0) != nil })
    else { return false }
    let join = table.table
    let ends = [(join.left, join.relationship)] + (join.inverse.map { [(join.right, $0)] } ?? [])
    return ends.allSatisfy { end, name in
      end.withDescendants.allSatisfy { entity in
        // One that is new has no links yet.
        guard let former = plan.mapping.entities[entity.index] else { return true }
        guard let property = entity.property(named: name), let destination = property.destination,
          let origin = plan.mapping.linkOrigin(of: property, in: entity), let formerEnd = origin.destination,
          origin.joinTable?.name == join.name, origin.isLeftEnd == property.isLeftEnd
        else { return false }
        return plan.offset(from: former, to: entity) == 0 && plan.offset(from: formerEnd, to: destination) == 0
      }
    }
  }

  /// Collects the links while the old tables are there.
  func collect() throws(StoreError) {
    for table in plan.destination.linkTables where !isUnchanged(table) {
      let name = collection(table)
      let columns = ["l", "r", "o", "i"].map { "\($0) \(dialect.keyType)" }.joined(separator: ", ")
      try database.run("CREATE TABLE \(name) (\(columns), PRIMARY KEY (l, r))")
      let left = sources(of: table.table.relationship, table.table.left)
      let right = table.table.inverse.map { sources(of: $0, table.table.right) } ?? []
      for source in left { try copy(source, "(l, r, o)", into: name) }
      for source in right { try copy(source, "(r, l, i)", into: name) }
      if table.table.isSymmetric {
        try database.run(
          "INSERT INTO \(name) (l, r) SELECT r, l FROM \(name) WHERE 1 = 1 ON CONFLICT (l, r) DO NOTHING")
      }
    }
  }

  private func copy(_ select: String, _ columns: String, into name: String) throws(StoreError) {
    let place = columns.contains("o") ? "o" : "i"
    try database.run(
      "INSERT INTO \(name) \(columns) \(select) ON CONFLICT (l, r) DO UPDATE SET \(place) = excluded.\(place)")
  }

  /// Removes the old join tables; those between families that are kept stay.
  func dropOldTables(keepsLostFamilies: Bool) throws(StoreError) {
    let unchanged = Set(plan.destination.linkTables.filter(isUnchanged).map(\.name))
    for table in plan.source.linkTables where !unchanged.contains(table.name) {
      let isUsed = [table.table.left, table.table.right].contains { side in
        side.root.withDescendants.contains { plan.mapping.successor(of: $0) != nil }
      }
      if !isUsed && keepsLostFamilies { continue }
      try database.run("DROP TABLE IF EXISTS \(SchemaName.quoted(table.name))")
    }
  }

  /// Makes the join tables of the links that were collected, if both ends are there.
  func finish() throws(StoreError) {
    for table in plan.destination.linkTables where !isUnchanged(table) {
      let join = table.table
      var columns = [dialect.name(join.leftColumn), dialect.name(join.rightColumn)]
      var values = ["l", "r"]
      if let order = table.orderColumn { (columns, values) = (columns + [order], values + ["o"]) }
      if let order = table.inverseOrderColumn { (columns, values) = (columns + [order], values + ["i"]) }
      let name = collection(table)
      try database.run("DROP TABLE IF EXISTS \(SchemaName.quoted(table.name))")
      try database.run(table.createSQL)
      if try !hasTables(join) {
        try database.run("DROP TABLE \(name)")
        continue
      }
      try database.run(
        """
        INSERT INTO \(SchemaName.quoted(table.name)) (\(columns.map(SchemaName.quoted).joined(separator: ", "))) \
        SELECT \(values.joined(separator: ", ")) FROM \(name) \
        WHERE l IN (SELECT _key FROM \(dialect.quoted(join.left.root.name))) \
        AND r IN (SELECT _key FROM \(dialect.quoted(join.right.root.name)))
        """)
      try database.run("DROP TABLE \(name)")
    }
  }

  /// True if the tables of both ends exist already; those of new families are made later.
  private func hasTables(_ join: JoinTable) throws(StoreError) -> Bool {
    for root in [join.left.root, join.right.root] {
      if try !database.hasTable(dialect.name(root.name)) { return false }
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
      dialect.quoted(column) + (offset == 0 ? "" : " + \(offset)")
    }
    if let join = origin.joinTable {
      let (near, far) =
        origin.isLeftEnd ? (join.leftColumn, join.rightColumn) : (join.rightColumn, join.leftColumn)
      let isOrdered = origin.isLeftEnd ? join.isOrdered : join.isInverseOrdered && !join.isSymmetric
      let order = isOrdered ? dialect.quoted("_order_" + far) : "NULL"
      return "SELECT \(term(near, own)), \(term(far, other)), \(order) FROM \(dialect.quoted(join.name)) WHERE 1 = 1"
    }
    if origin.storage == .reference, origin.isPersistent {
      let table = plan.source.table(of: owner)
      let condition = table.tellsEntity ? " AND _entity = \(SchemaName.literal(owner.name))" : ""
      return
        "SELECT \(term("_key", own)), \(term(dialect.columnName(of: origin), other)), NULL FROM \(SchemaName.quoted(table.name)) "
        + "WHERE \(dialect.quoted(dialect.columnName(of: origin))) IS NOT NULL\(condition)"
    }
    guard let inverse = origin.inverse, inverse.storage == .reference, let destination = origin.destination else {
      return nil
    }
    let order = inverse.orderProperty.map { dialect.quoted(dialect.columnName(of: $0)) } ?? "NULL"
    let table = SchemaName.quoted(plan.source.table(of: destination).name)
    return "SELECT \(term(dialect.columnName(of: inverse), own)), \(term("_key", other)), \(order) FROM \(table) "
      + "WHERE \(dialect.quoted(dialect.columnName(of: inverse))) IS NOT NULL"
  }
}
