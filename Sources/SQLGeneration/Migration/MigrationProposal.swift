package import ObjectModel
package import StoreInterface

/// A proposed migration of a store with its problems; made without changing anything.
package struct MigrationProposal: Sendable {
  package let plan: MigrationPlan
  private let problems: [MigrationProblem]
  /// The roots of families without a place in the store's model whose tables are to go.
  private let droppedFamilies: Set<String>

  /// - Parameters:
  ///   - stored: the model as the store tells it.
  ///   - source: the same, read.
  ///   - destination: the tables of the new model.
  ///   - choices: decisions about what can't be inferred.
  ///   - keptEntities: the entities whose former rows code will want to read.
  ///   - database: the store.
  package init(
    _ stored: StoredModel, _ source: ManagedObjectModel, to destination: Schema, choices: MigrationChoices,
    keeping keptEntities: [String] = [], database: any MigrationDatabase
  ) throws(StoreError) {
    let mapping = MappingInference(from: source, to: destination.model, choices: choices)
    let old = Schema(source, dialect: destination.dialect)
    var nextKeys: [String: Int64] = [:]
    for table in old.tables { nextKeys[table.name] = try Self.nextKey(table, database) }
    let kept = keptEntities.compactMap { source.entitiesByName[$0].map { old.table(of: $0).name } }
    let plan = MigrationPlan(mapping, source: old, destination: destination, keptTables: Set(kept)) {
      nextKeys[$0.name] ?? 1
    }
    self.plan = plan
    try database.prepare(plan.conversions)
    var problems = mapping.problems
    var dropped: Set<String> = []
    for statement in choices.statements {
      guard case .dropEntity(let name) = statement.kind, source.entitiesByName[name] == nil else { continue }
      if let root = stored.entity(name)?.root {
        dropped.insert(root)
      } else {
        problems.append(MigrationProblem("\(statement.place): the store has no entity \(name)"))
      }
    }
    // A family that was kept for a model without it can only come back as it was.
    for entity in destination.model.entities where mapping.entities[entity.index] == nil {
      guard let former = stored.entity(entity.name), source.entitiesByName[entity.name] == nil,
        former.hash != entity.versionHash.description, !dropped.contains(former.root)
      else { continue }
      problems.append(
        MigrationProblem(
          "\(entity.name) was kept from an earlier model and had another shape there",
          remedies: ["drop \(entity.name)"]))
    }
    self.problems = try problems + MigrationChecks(database: database, plan: plan).problems()
    droppedFamilies = dropped
  }

  /// The first key of a table that nobody has drawn or used.
  private static func nextKey(_ table: SchemaTable, _ database: any MigrationDatabase) throws(StoreError) -> Int64 {
    let drawn = try database.integer("SELECT next FROM _keys WHERE root = \(SchemaName.literal(table.root.name))")
    let highest = try database.integer("SELECT coalesce(max(_key), 0) FROM \(SchemaName.quoted(table.name))")
    return max(drawn, 1, highest == .max ? .max : highest + 1)
  }

  /// Returns why the store can't be migrated, and what to do; nil if nothing is in the way.
  ///
  /// - Parameter instructions: the path of the file in which an operator can say what is to be done, if there can be one.
  package func refusal(instructions: String?) -> String? {
    if problems.isEmpty { return nil }
    guard let instructions else {
      return problems.map(\.text).joined(separator: "; ")
        + ". This can't be inferred: use a staged migration, or change the model"
    }
    var lines = problems.map(\.text)
    let solvable = problems.filter { !$0.remedies.isEmpty }
    if solvable.isEmpty { return (lines + ["change the model, or put the former one back"]).joined(separator: "\n") }
    lines.append("put the former model back, or write into \(instructions) what is to be done:")
    lines.append("  " + MigrationInstructions.heading(plan.mapping.source.versionHash))
    for problem in solvable {
      let others = problem.remedies.dropFirst().map { "   # or: \($0)" }.joined()
      lines.append("  " + problem.remedies[0] + others)
    }
    return lines.joined(separator: "\n")
  }

  /// Brings the tables and rows to the new model; what the model has new is to be added by the caller.
  ///
  /// - Parameter keepsLostFamilies: whether the tables of families that are no more stay.
  package func run(on database: any MigrationDatabase, keepsLostFamilies: Bool) throws(StoreError) {
    // The tables of families that were kept for a model that has them again, and that are to go instead.
    for root in droppedFamilies.sorted() {
      try database.run("DROP TABLE IF EXISTS \(plan.dialect.quoted(root))")
      try database.run("DELETE FROM _entity WHERE root = \(SchemaName.literal(root))")
    }
    try Migrator(database: database, plan: plan, keepsLostFamilies: keepsLostFamilies).run()
  }
}
