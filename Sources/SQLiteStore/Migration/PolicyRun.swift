import ObjectGraph
import ObjectModel
import SQLGeneration

/// Runs the code of policies over the rows of the earlier model, when the tables are those of the later one.
struct PolicyRun {
  let connection: Connection
  let plan: MigrationPlan
  let policies: [EntityMigrationPolicy]
  let files: ExternalFiles
  let options: SQLiteStoreOptions
  /// Objects between two saves.
  private static let batchSize = 500

  func run() throws(StoreError) {
    try MigrationContext(connection: connection, options: options).run(plan.destination.model) { context in
      for policy in policies { try run(policy, context) }
    }
    try checkValues()
    for table in plan.keptTables {
      try connection.control("DROP TABLE \(SchemaName.quoted(MigrationPlan.keptName(table)))")
    }
  }

  private func run(_ policy: EntityMigrationPolicy, _ context: isolated ManagedObjectContext) throws {
    guard let code = policy.code, let entity = plan.mapping.source.entitiesByName[policy.source] else { return }
    var last = Int64.min
    while true {
      let batch = try rows(of: entity, after: last, ordinal: context.coordinator.ordinal)
      guard let end = batch.last?.key else { return }
      for source in batch { try code(source, context) }
      if context.hasChanges { try context.save() }
      context.reset()
      last = end
    }
  }

  private func rows(of entity: Entity, after key: Int64, ordinal: UInt32) throws(StoreError) -> [MigrationSource] {
    let table = plan.source.table(of: entity)
    let decoder = RowDecoder(entity, columns: table.columnNames, model: plan.source.model, files: files)
    let condition = table.tellsEntity ? " AND _entity = \(SchemaName.literal(entity.name))" : ""
    var found: [MigrationSource] = []
    try connection.run(
      """
      SELECT \(table.columnNames.map(SchemaName.quoted).joined(separator: ", ")) \
      FROM \(SchemaName.quoted(MigrationPlan.keptName(table.name))) WHERE _key > ?1\(condition) \
      ORDER BY _key LIMIT \(Self.batchSize)
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
