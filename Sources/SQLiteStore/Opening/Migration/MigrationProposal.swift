import ObjectModel
import SQLGeneration
import StoreInterface

/// A proposed migration of a store with its problems; made without changing anything.
struct MigrationProposal {
  let plan: MigrationPlan
  let problems: [MigrationProblem]
  /// The roots of families without a place in the store's model whose tables are to go.
  private let droppedFamilies: Set<String>

  init(
    _ stored: StoredModel, _ source: ManagedObjectModel, to destination: Schema, choices: MigrationChoices,
    keeping keptEntities: [String] = [], connection: Connection
  ) throws(StoreError) {
    let mapping = MappingInference(from: source, to: destination.model, choices: choices)
    let old = Schema(source)
    let keys = KeyBlocks(connection: connection, names: EntityNames(source))
    var nextKeys: [String: Int64] = [:]
    for table in old.tables { nextKeys[table.name] = try keys.next(table.name) }
    let kept = keptEntities.compactMap { source.entitiesByName[$0].map { old.table(of: $0).name } }
    plan = MigrationPlan(mapping, source: old, destination: destination, keptTables: Set(kept)) {
      nextKeys[$0.name] ?? 1
    }
    var problems = mapping.problems
    var dropped: Set<String> = []
    for statement in choices.statements {
      guard case .dropEntity(let name) = statement.kind, source.entitiesByName[name] == nil else { continue }
      if let root = stored.roots[name] {
        dropped.insert(root)
      } else {
        problems.append(MigrationProblem("\(statement.place): the store has no entity \(name)"))
      }
    }
    // A family that was kept for a model without it can only come back as it was.
    for entity in destination.model.entities where mapping.entities[entity.index] == nil {
      guard let hash = stored.hashes[entity.name], source.entitiesByName[entity.name] == nil,
        hash != entity.versionHash.description, !dropped.contains(stored.roots[entity.name] ?? "")
      else { continue }
      problems.append(
        MigrationProblem(
          "\(entity.name) was kept from an earlier model and had another shape there",
          remedies: ["drop \(entity.name)"]))
    }
    self.problems = try problems + MigrationChecks(connection: connection, plan: plan).problems()
    droppedFamilies = dropped
  }

  /// Returns why the store can't be migrated, and what to do; nil if nothing is in the way.
  ///
  /// - Parameter instructions: the path of the file in which an operator can say what is to be done, if there can be one.
  func refusal(instructions: String?) -> String? {
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

  /// Removes the tables of families that were kept for a model that has them again, and that are to go instead.
  func dropKeptFamilies(_ connection: Connection) throws(StoreError) {
    for root in droppedFamilies.sorted() {
      try connection.control("DROP TABLE IF EXISTS \(SchemaName.quoted(root))")
      try connection.control("DELETE FROM _entity WHERE root = ?1") { $0.bindCopy(root, 1) }
    }
  }
}
