import ObjectModel
import SQLGeneration
import StoreInterface

/// Brings the rows of a store from one model to another, inside a transaction of the caller.
///
/// Tables whose rows change are built anew beside the old ones, which go when everything has been copied.
struct Migrator {
  let connection: Connection
  let plan: MigrationPlan
  let files: ExternalFiles
  /// True if the tables of families that are no more stay in the file.
  let keepsLostFamilies: Bool

  func run() throws(StoreError) {
    let changed = plan.tables.filter { !$0.contributions.isEmpty && !plan.isUnchanged($0) }
    for table in changed { try build(table) }
    for table in changed { try turnRelationshipsAround(table) }
    let links = LinkMigration(connection: connection, plan: plan)
    try links.collect()
    try links.dropOldTables(keepsLostFamilies: keepsLostFamilies)
    try dropOldTables()
    for table in changed {
      try connection.control(
        "ALTER TABLE \(SchemaName.quoted(table.temporaryName)) RENAME TO \(SchemaName.quoted(table.table.name))")
    }
    try links.finish()
    for table in plan.tables where !table.contributions.isEmpty { try clearDanglingReferences(table) }
    for table in plan.tables { try moveFilesIntoRows(of: table) }
    try writeKeys()
    try HistoryMigration(connection: connection, plan: plan).run(keepsLostFamilies: keepsLostFamilies)
  }

  private func build(_ plan: MigrationPlan.TablePlan) throws(StoreError) {
    let table = plan.table
    try connection.control(table.createSQL(as: plan.temporaryName))
    for contribution in plan.contributions {
      let mapping = RowMapping(self.plan, contribution)
      let columns = table.columns.map(\.name).filter { mapping.expressions[$0] != nil }
      let names =
        [SchemaName.key, SchemaName.version] + (table.tellsEntity ? [SchemaName.entity] : []) + columns
      let key = contribution.offset == 0 ? SchemaName.key : "\(SchemaName.key) + \(contribution.offset)"
      let values =
        [key, SchemaName.version] + (table.tellsEntity ? [SchemaName.literal(contribution.entity.name)] : [])
        + columns.compactMap { mapping.expressions[$0] }
      try connection.control(
        """
        INSERT INTO \(SchemaName.quoted(plan.temporaryName)) (\(names.map(SchemaName.quoted).joined(separator: ", "))) \
        SELECT \(values.joined(separator: ", ")) FROM \(SchemaName.quoted(contribution.source.name))\
        \(contribution.condition)
        """
      ) { $0.bind(mapping.bindings) }
    }
  }

  /// Fills a new to-one relationship whose inverse was to-one, had no inverse, and is to-many now.
  private func turnRelationshipsAround(_ plan: MigrationPlan.TablePlan) throws(StoreError) {
    for entity in plan.table.members {
      for property in entity.properties where property.storage == .reference && property.isPersistent {
        guard self.plan.mapping.origin(of: property, in: entity) == nil, let inverse = property.inverse,
          let owner = property.destination, let former = self.plan.mapping.linkOrigin(of: inverse, in: owner),
          former.storage == .reference, former.isPersistent, let formerOwner = self.plan.mapping.entities[owner.index],
          let formerDestination = former.destination
        else { continue }
        let key = "_key + \(self.plan.offset(from: formerOwner, to: owner))"
        let source = SchemaName.quoted(self.plan.source.table(of: formerOwner).name)
        let reference =
          "\(SchemaName.quoted(former.columnName)) + \(self.plan.offset(from: formerDestination, to: entity))"
        let target = SchemaName.quoted(plan.temporaryName)
        var assignments = [
          "\(SchemaName.quoted(property.columnName)) = (SELECT \(key) FROM \(source) AS o WHERE \(reference) = \(target)._key)"
        ]
        if let column = property.entityColumnName {
          assignments.append(
            "\(SchemaName.quoted(column)) = (SELECT \(SchemaName.literal(owner.name)) FROM \(source) AS o "
              + "WHERE \(reference) = \(target)._key)")
        }
        try connection.control("UPDATE \(target) SET \(assignments.joined(separator: ", "))")
      }
    }
  }

  private func dropOldTables() throws(StoreError) {
    let used = Set(plan.tables.flatMap(\.contributions).map(\.source.name))
    let staying = Set(plan.tables.filter { plan.isUnchanged($0) }.map(\.table.name))
    for table in plan.source.tables where !staying.contains(table.name) {
      let isDropped = table.members.contains { plan.mapping.choices.isDropped($0.name) }
      if !used.contains(table.name) && keepsLostFamilies && !isDropped { continue }
      if plan.keptTables.contains(table.name) {
        try keep(table)
      } else {
        try connection.control("DROP TABLE IF EXISTS \(SchemaName.quoted(table.name))")
      }
      for entity in table.members {
        try connection.control("DELETE FROM _entity WHERE name = ?1") { $0.bindCopy(entity.name, 1) }
      }
      // The keys of objects that code replaces are not used again.
      if plan.keptTables.contains(table.name) { continue }
      try connection.control("DELETE FROM _keys WHERE root = ?1") { $0.bindCopy(table.name, 1) }
    }
  }

  /// Gives a table a name under which it can still be read; its indexes and triggers would be in the new ones' way.
  private func keep(_ table: SchemaTable) throws(StoreError) {
    var parts: [(type: String, name: String)] = []
    try connection.runControl(
      "SELECT type, name FROM sqlite_master WHERE tbl_name = ?1 AND type IN ('index', 'trigger') AND sql IS NOT NULL",
      { $0.bindCopy(table.name, 1) }
    ) { statement in
      parts.append((statement.text(0), statement.text(1)))
      return true
    }
    for part in parts { try connection.control("DROP \(part.type) \(SchemaName.quoted(part.name))") }
    let kept = SchemaName.quoted(MigrationPlan.keptName(table.name))
    try connection.control("ALTER TABLE \(SchemaName.quoted(table.name)) RENAME TO \(kept)")
  }

  private func writeKeys() throws(StoreError) {
    for table in plan.tables where !table.contributions.isEmpty {
      try connection.control("INSERT OR REPLACE INTO _keys VALUES (?1, ?2)") { statement in
        statement.bindCopy(table.table.name, 1)
        statement.bind(table.nextKey, 2)
      }
    }
  }
}

// MARK: - What is to be done with the rows that are in their new tables

extension Migrator {
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
        let column = SchemaName.quoted(property.columnName)
        let cleared = [column] + (property.entityColumnName.map { [SchemaName.quoted($0)] } ?? [])
        try connection.control(
          """
          UPDATE \(SchemaName.quoted(table.table.name)) SET \(cleared.map { "\($0) = NULL" }.joined(separator: ", ")) \
          WHERE \(column) IS NOT NULL AND \(column) NOT IN (SELECT _key FROM \(SchemaName.quoted(target.name))\
          \(target.tellsEntity ? " WHERE _entity IN (\(names))" : ""))
          """)
      }
    }
  }

  /// Moves values that lie in files into the row where the attribute does not allow external storage any more.
  private func moveFilesIntoRows(of table: MigrationPlan.TablePlan) throws(StoreError) {
    for entity in table.contributions.map(\.entity) {
      for property in entity.properties where property.storage == .blob && property.isPersistent {
        let former = plan.mapping.origin(of: property, in: entity)?.attribute
        guard former?.allowsExternalBinaryDataStorage == true,
          property.attribute?.allowsExternalBinaryDataStorage == false
        else { continue }
        let name = SchemaName.quoted(table.table.name)
        let column = SchemaName.quoted(property.columnName)
        var found: [(key: Int64, file: String)] = []
        try connection.runControl("SELECT _key, \(column) FROM \(name) WHERE typeof(\(column)) = 'text'") { statement in
          found.append((statement.integer(0), statement.text(1)))
          return true
        }
        for (key, file) in found {
          let bytes: [UInt8]
          do { bytes = Array(try files.blob(named: file).load()) } catch {
            throw fail("a value of \(entity.name).\(property.name) can't be read from its file: \(error)")
          }
          try connection.control("UPDATE \(name) SET \(column) = ?2 WHERE _key = ?1") { statement in
            statement.bind(key, 1)
            statement.bindCopy(bytes, 2)
          }
        }
      }
    }
  }

  private func fail(_ problem: String) -> StoreError {
    StoreError(
      .incompatibleModel, "the store can't be migrated to the model: \(problem)", path: connection.path)
  }
}

extension MigrationPlan.Contribution {
  /// The WHERE clause for the rows of the source.
  var condition: String {
    source.tellsEntity ? " WHERE \(SchemaName.entity) = \(SchemaName.literal(origin.name))" : ""
  }
}
