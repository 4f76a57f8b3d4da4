import ObjectModel
import SQLGeneration
package import StoreInterface

/// Runs the code of policies over the rows of the earlier model, when the tables are those of the later one.
struct PolicyRun {
  let connection: Connection
  let plan: MigrationPlan
  let policies: [EntityMigrationPolicy]
  let files: ExternalFiles
  let options: SQLiteStoreOptions

  func run() throws(StoreError) {
    let store = MigratingStore(connection, options, model: plan.destination.model)
    for policy in policies {
      guard let code = policy.code, let entity = plan.mapping.source.entitiesByName[policy.source] else { continue }
      let rows = FormerRows(store: store, entity: entity, connection: connection, plan: plan, files: files)
      try store.run { try code(rows) }
    }
    try checkValues()
    for table in plan.keptTables {
      try connection.control("DROP TABLE \(SchemaName.quoted(MigrationPlan.keptName(table)))")
    }
  }

  /// Sees that no object was left without a required value, whether code has touched it or not.
  private func checkValues() throws(StoreError) {
    for table in plan.tables {
      for contribution in table.contributions where plan.mapping.choices.isHandled(contribution.origin.name) {
        for property in contribution.entity.properties where property.isPersistent && !property.isOptional {
          guard let attribute = property.attribute, attribute.derivation == nil else { continue }
          let condition =
            table.table.tellsEntity ? " AND _entity = \(SchemaName.literal(contribution.entity.name))" : ""
          let count =
            try connection.controlResult(
              "SELECT count(*) FROM \(SchemaName.quoted(table.table.name)) "
                + "WHERE \(SchemaName.quoted(property.columnName)) IS NULL\(condition)"
            ) { $0.integer(0) } ?? 0
          guard count > 0 else { continue }
          throw StoreError(
            .incompatibleModel,
            "the store can't be migrated to the model: the policy for \(contribution.origin.name) leaves \(count) "
              + "\(count == 1 ? "object" : "objects") without \(contribution.entity.name).\(property.name), which is required",
            path: connection.path)
        }
      }
    }
  }
}

/// The rows of an entity of the earlier model, while the tables are those of the later one already.
package struct FormerRows {
  /// The store with the later model.
  package let store: MigratingStore
  private let entity: Entity
  private let connection: Connection
  private let plan: MigrationPlan
  private let files: ExternalFiles

  fileprivate init(
    store: MigratingStore, entity: Entity, connection: Connection, plan: MigrationPlan, files: ExternalFiles
  ) {
    self.store = store
    self.entity = entity
    self.connection = connection
    self.plan = plan
    self.files = files
  }

  /// The first rows behind a key.
  package func batch(
    of count: Int, after key: Int64, ordinal: UInt32
  ) throws(StoreError) -> [MigrationSource] {
    let table = plan.source.table(of: entity)
    let decoder = RowDecoder(entity, columns: table.columnNames, model: plan.source.model, files: files)
    let condition = table.tellsEntity ? " AND _entity = \(SchemaName.literal(entity.name))" : ""
    var found: [MigrationSource] = []
    try connection.run(
      """
      SELECT \(table.columnNames.map(SchemaName.quoted).joined(separator: ", ")) \
      FROM \(SchemaName.quoted(MigrationPlan.keptName(table.name))) WHERE _key > ?1\(condition) \
      ORDER BY _key LIMIT \(count)
      """, { $0.bind(key, 1) }
    ) { statement throws(StoreError) in
      found.append(
        MigrationSource(
          entity: entity, key: statement.integer(0), row: decoder.row(statement, ordinal: ordinal).row, plan: plan,
          ordinal: ordinal, connection: connection))
      return true
    }
    return found
  }
}
