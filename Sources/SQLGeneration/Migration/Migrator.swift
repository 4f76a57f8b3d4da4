import ObjectModel
import StoreInterface

/// Brings the rows of a store from one model to another, inside a transaction of the caller.
///
/// Tables that are built anew stand beside the old ones, which go when everything has been copied.
struct Migrator {
  let database: any MigrationDatabase
  let plan: MigrationPlan
  /// True if the tables of families that are no more stay.
  let keepsLostFamilies: Bool

  private var dialect: Dialect { plan.dialect }

  func run() throws(StoreError) {
    var rebuilt: [MigrationPlan.TablePlan] = []
    var dropped: [(table: String, columns: [String])] = []
    for table in plan.tables {
      switch plan.change(of: table) {
      case .none: break
      case .inPlace(let added, let gone):
        try fill(table, added)
        dropped.append((table.table.name, gone))
      case .rebuilt:
        try build(table)
        rebuilt.append(table)
      }
    }
    for table in plan.tables {
      switch plan.change(of: table) {
      case .none: break
      case .inPlace: try turnRelationshipsAround(table, in: table.table.name)
      case .rebuilt: try turnRelationshipsAround(table, in: table.temporaryName(dialect))
      }
    }
    let links = LinkMigration(database: database, plan: plan)
    try links.collect()
    try links.dropOldTables(keepsLostFamilies: keepsLostFamilies)
    try dropOldTables(rebuilt: Set(rebuilt.map(\.table.name)))
    for table in rebuilt {
      let temporary = SchemaName.quoted(table.temporaryName(dialect))
      try database.run("ALTER TABLE \(temporary) RENAME TO \(SchemaName.quoted(table.table.name))")
    }
    for (table, columns) in dropped {
      for column in columns {
        try database.run("ALTER TABLE \(SchemaName.quoted(table)) DROP COLUMN \(SchemaName.quoted(column))")
      }
    }
    try links.finish()
    for table in plan.tables where !table.contributions.isEmpty { try clearDanglingReferences(table) }
    try database.settleLargeValues(plan)
    try writeKeys()
    try HistoryMigration(database: database, plan: plan).run(keepsLostFamilies: keepsLostFamilies)
  }

  /// Copies the rows of a table that is built anew.
  private func build(_ plan: MigrationPlan.TablePlan) throws(StoreError) {
    let table = plan.table
    let temporary = plan.temporaryName(dialect)
    try database.run(table.createSQL(as: temporary))
    for contribution in plan.contributions {
      let mapping = RowMapping(self.plan, contribution)
      let columns = table.columns.map(\.name).filter { mapping.expressions[$0] != nil }
      let names =
        [SchemaName.key, SchemaName.version] + (table.tellsEntity ? [SchemaName.entity] : []) + columns
      let key = contribution.offset == 0 ? SchemaName.key : "\(SchemaName.key) + \(contribution.offset)"
      let values =
        [key, SchemaName.version] + (table.tellsEntity ? [SchemaName.literal(contribution.entity.name)] : [])
        + columns.compactMap { mapping.expressions[$0] }
      try database.run(
        """
        INSERT INTO \(SchemaName.quoted(temporary)) (\(names.map(SchemaName.quoted).joined(separator: ", "))) \
        SELECT \(values.joined(separator: ", ")) FROM \(SchemaName.quoted(contribution.source.name))\
        \(contribution.condition)
        """, mapping.bindings)
    }
  }

  /// Adds columns to a table and gives them what its rows have for them.
  private func fill(_ plan: MigrationPlan.TablePlan, _ added: [String]) throws(StoreError) {
    for column in added { try database.run(plan.table.addColumnSQL(column)) }
    for contribution in plan.contributions {
      let mapping = RowMapping(self.plan, contribution)
      let assignments = added.compactMap { column in
        mapping.expressions[column].flatMap { $0 == "NULL" ? nil : "\(SchemaName.quoted(column)) = \($0)" }
      }
      if assignments.isEmpty { continue }
      try database.run(
        "UPDATE \(SchemaName.quoted(plan.table.name)) SET \(assignments.joined(separator: ", "))"
          + contribution.condition, mapping.bindings)
    }
  }

  /// Fills a new to-one relationship whose inverse was to-one, had no inverse, and is to-many now.
  ///
  /// - Parameter name: the table that has the new column at this moment.
  private func turnRelationshipsAround(_ plan: MigrationPlan.TablePlan, in name: String) throws(StoreError) {
    for entity in plan.table.members {
      for property in entity.properties where property.storage == .reference && property.isPersistent {
        guard self.plan.mapping.origin(of: property, in: entity) == nil, let inverse = property.inverse,
          let owner = property.destination, let former = self.plan.mapping.linkOrigin(of: inverse, in: owner),
          former.storage == .reference, former.isPersistent, let formerOwner = self.plan.mapping.entities[owner.index],
          let formerDestination = former.destination
        else { continue }
        let key = "o._key + \(self.plan.offset(from: formerOwner, to: owner))"
        let source = SchemaName.quoted(self.plan.source.table(of: formerOwner).name)
        let reference =
          "o.\(SchemaName.quoted(dialect.columnName(of: former))) + \(self.plan.offset(from: formerDestination, to: entity))"
        let target = SchemaName.quoted(name)
        let owners = "FROM \(source) AS o WHERE \(reference) = \(target)._key ORDER BY o._key LIMIT 1"
        var assignments = ["\(SchemaName.quoted(dialect.columnName(of: property))) = (SELECT \(key) \(owners))"]
        if let column = dialect.entityColumnName(of: property) {
          assignments.append("\(SchemaName.quoted(column)) = (SELECT \(SchemaName.literal(owner.name)) \(owners))")
        }
        try database.run("UPDATE \(target) SET \(assignments.joined(separator: ", "))")
      }
    }
  }

  /// Drops the tables that were copied, and those of families that are no more.
  private func dropOldTables(rebuilt: Set<String>) throws(StoreError) {
    let used = Set(plan.tables.flatMap(\.contributions).map(\.source.name))
    let staying = Set(
      plan.tables.filter { !$0.contributions.isEmpty && !rebuilt.contains($0.table.name) }.map(\.table.name))
    for table in plan.source.tables where !staying.contains(table.name) {
      let isDropped = table.members.contains { plan.mapping.choices.isDropped($0.name) }
      if !used.contains(table.name) && keepsLostFamilies && !isDropped { continue }
      if plan.keptTables.contains(table.name) {
        try database.dropIndexes(of: table)
        try database.run(
          "ALTER TABLE \(SchemaName.quoted(table.name)) RENAME TO \(SchemaName.quoted(plan.keptName(table)))")
      } else {
        try database.run("DROP TABLE IF EXISTS \(SchemaName.quoted(table.name))")
      }
      for entity in table.members {
        try database.run("DELETE FROM _entity WHERE name = \(SchemaName.literal(entity.name))")
      }
      // The keys of objects that code replaces are not used again.
      if plan.keptTables.contains(table.name) { continue }
      try database.run("DELETE FROM _keys WHERE root = \(SchemaName.literal(table.root.name))")
    }
  }

  /// Has new keys begin behind those in use. Others who have the store open may have reserved more meanwhile.
  private func writeKeys() throws(StoreError) {
    for table in plan.tables where !table.contributions.isEmpty {
      try database.run(
        "INSERT INTO _keys (root, next) VALUES (\(SchemaName.literal(table.table.root.name)), \(table.nextKey)) "
          + "ON CONFLICT (root) DO UPDATE SET next = excluded.next WHERE _keys.next < excluded.next")
    }
  }

  /// Clears references to objects that are no more, or not of the family that a relationship leads to now.
  private func clearDanglingReferences(_ table: MigrationPlan.TablePlan) throws(StoreError) {
    for entity in table.table.members {
      for property in entity.properties where property.storage == .reference && property.isPersistent {
        guard let former = plan.mapping.linkOrigin(of: property, in: entity)?.destination,
          let destination = property.destination,
          former.withDescendants.contains(where: { plan.mapping.successor(of: $0)?.isKind(of: destination) != true })
        else { continue }
        let target = plan.destination.table(of: destination)
        let names = destination.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
        let column = SchemaName.quoted(dialect.columnName(of: property))
        let cleared = [column] + (dialect.entityColumnName(of: property).map { [SchemaName.quoted($0)] } ?? [])
        try database.run(
          """
          UPDATE \(SchemaName.quoted(table.table.name)) SET \(cleared.map { "\($0) = NULL" }.joined(separator: ", ")) \
          WHERE \(column) IS NOT NULL AND \(column) NOT IN (SELECT _key FROM \(SchemaName.quoted(target.name))\
          \(target.tellsEntity ? " WHERE _entity IN (\(names))" : ""))
          """)
      }
    }
  }
}

/// Lets the history of a store name its objects as the new model does: entities are renamed, and keys change where
/// several tables become one. Names of properties stay those of their time; changes of entities that are no more go.
private struct HistoryMigration {
  let database: any MigrationDatabase
  let plan: MigrationPlan

  func run(keepsLostFamilies: Bool) throws(StoreError) {
    guard try database.hasTable("_change") else { return }
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
      try database.run("DELETE FROM _change WHERE entity IN (\(lost.joined(separator: ", ")))")
    }
    if names.isEmpty && offsets.isEmpty { return }
    let entity = names.isEmpty ? "entity" : "CASE entity \(names.joined(separator: " ")) ELSE entity END"
    let offset = offsets.isEmpty ? "0" : "CASE entity \(offsets.joined(separator: " ")) ELSE 0 END"
    // Every expression sees the old row, so that names can be exchanged.
    try database.run("UPDATE _change SET entity = \(entity), first = first + \(offset), last = last + \(offset)")
  }
}
