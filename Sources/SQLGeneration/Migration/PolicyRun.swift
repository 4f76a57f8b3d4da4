package import ObjectModel
package import StoreInterface

/// Runs the code of policies over the rows of the earlier model, when the tables are those of the later one.
package struct PolicyRun {
  private let database: any MigrationDatabase
  private let plan: MigrationPlan
  private let policies: [EntityMigrationPolicy]

  package init(_ policies: [EntityMigrationPolicy], _ plan: MigrationPlan, on database: any MigrationDatabase) {
    self.database = database
    self.plan = plan
    self.policies = policies
  }

  package func run() throws(StoreError) {
    let store = database.store(plan.destination.model)
    for policy in policies {
      guard let code = policy.code, let entity = plan.mapping.source.entitiesByName[policy.source] else { continue }
      let rows = FormerRows(store: store) { [database, plan] (count, key, ordinal) throws(StoreError) in
        let successors = Successors(database: database, plan: plan, ordinal: ordinal)
        let found = try database.formerRows(
          of: entity, in: plan.source, table: plan.keptName(plan.source.table(of: entity)), after: key, limit: count,
          ordinal: ordinal)
        return found.map { MigrationSource(entity: entity, key: $0.key, row: $0.row, successors: successors) }
      }
      try store.run { try code(rows) }
    }
    try checkValues()
    for table in plan.source.tables where plan.keptTables.contains(table.name) {
      try database.run("DROP TABLE \(SchemaName.quoted(plan.keptName(table)))")
    }
    try database.settleLargeValues(plan)
  }

  /// Sees that no object was left without a required value, whether code has touched it or not.
  private func checkValues() throws(StoreError) {
    for table in plan.tables {
      for contribution in table.contributions where plan.mapping.choices.isHandled(contribution.origin.name) {
        for property in contribution.entity.properties where property.isPersistent && !property.isOptional {
          guard let attribute = property.attribute, attribute.derivation == nil else { continue }
          let columns = [plan.dialect.columnName(of: property)] + [plan.dialect.fileColumnName(of: property)]
          var conditions = columns.compactMap { $0.map { "\(SchemaName.quoted($0)) IS NULL" } }
          if table.table.tellsEntity { conditions.append("_entity = \(SchemaName.literal(contribution.entity.name))") }
          let count = try database.integer(
            "SELECT count(*) FROM \(SchemaName.quoted(table.table.name)) WHERE "
              + conditions.joined(separator: " AND "))
          guard count > 0 else { continue }
          throw StoreError(
            .incompatibleModel,
            "the store can't be migrated to the model: the policy for \(contribution.origin.name) leaves \(count) "
              + "\(count == 1 ? "object" : "objects") without \(contribution.entity.name).\(property.name), which is "
              + "required", path: database.place)
        }
      }
    }
  }
}

/// Successors of objects by the plan.
private struct Successors: ObjectSuccessors {
  let database: any MigrationDatabase
  let plan: MigrationPlan
  let ordinal: UInt32

  func successor(of entity: Entity, key: Int64) -> ManagedObjectID? {
    guard let successor = plan.mapping.successor(of: entity) else { return nil }
    return ManagedObjectID(
      key: key + plan.offset(from: entity, to: successor), entity: successor, coordinatorOrdinal: ordinal)
  }

  func destination(of reference: ManagedObjectID, _ entity: Entity) throws(StoreError) -> ManagedObjectID? {
    let origin = plan.mapping.source.entities[Int(reference.entityIndex)]
    guard let successor = plan.mapping.successor(of: origin) ?? plan.mapping.successor(of: entity) else { return nil }
    let key = reference.key + plan.offset(from: origin, to: successor)
    let table = SchemaName.quoted(plan.destination.table(of: successor).name)
    if try database.rows("SELECT 1 FROM \(table) WHERE _key = \(key)").isEmpty { return nil }
    return ManagedObjectID(key: key, entity: successor, coordinatorOrdinal: ordinal)
  }
}

/// Takes a store through the stages that it has not seen, each in a transaction of its own, code included.
package struct StageRun {
  private let database: any MigrationDatabase
  private let stored: () throws(StoreError) -> StoredModel
  private let transaction: (() throws(StoreError) -> Void) throws(StoreError) -> Void
  private let update: (ManagedObjectModel, [EntityMigrationPolicy]) throws(StoreError) -> Void
  /// The key under which releases whose code ran outside of the transaction noted that it was not finished.
  private static let pendingKey = "stage"

  /// - Parameters:
  ///   - database: the store.
  ///   - stored: reads the model that the store has now.
  ///   - transaction: runs a body in a transaction of which all others on the connection are parts.
  ///   - update: brings the store to a model with policies.
  package init(
    _ database: any MigrationDatabase, stored: @escaping () throws(StoreError) -> StoredModel,
    transaction: @escaping (() throws(StoreError) -> Void) throws(StoreError) -> Void,
    update: @escaping (ManagedObjectModel, [EntityMigrationPolicy]) throws(StoreError) -> Void
  ) {
    self.database = database
    self.stored = stored
    self.transaction = transaction
    self.update = update
  }

  package func run(_ manager: StagedMigrationManager) throws(StoreError) {
    let steps = manager.stages.flatMap(\.steps)
    let found = try stored()
    guard let place = steps.lastIndex(where: { found.fits($0.model) }) else { return }
    let pending = try database.rows("SELECT value FROM _metadata WHERE key = '\(Self.pendingKey)'").first?.first
    if case .text(let label)? = pending, let step = steps.last(where: { $0.label == label }) {
      try transaction { () throws(StoreError) in
        try run(step.after, step.model)
        try database.run("DELETE FROM _metadata WHERE key = '\(Self.pendingKey)'")
      }
    }
    for (number, step) in steps.enumerated().dropFirst(place + 1) {
      try transaction { () throws(StoreError) in
        // Another process may have done it meanwhile.
        if try stored().fits(step.model) { return }
        try run(step.before, steps[number - 1].model)
        try update(step.model, step.policies)
        try run(step.after, step.model)
      }
    }
  }

  private func run(_ code: MigrationStage.Code?, _ model: ManagedObjectModel) throws(StoreError) {
    guard let code else { return }
    let store = database.store(model)
    try store.run { try code(store) }
  }
}
