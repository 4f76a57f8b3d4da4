import ObjectModel
import SQLGeneration

/// What becomes of the tables of a store when its model changes: which rows go where, under which keys.
struct MigrationPlan {
  /// The rows of one entity of the old model that go into one table of the new one.
  struct Contribution {
    let entity: Entity
    let origin: Entity
    let source: SchemaTable
    /// What is added to the keys, because several tables become one.
    let offset: Int64
  }

  struct TablePlan {
    let table: SchemaTable
    let contributions: [Contribution]
    /// The first key that is free in the table.
    let nextKey: Int64

    /// The name of the table while the old ones are still there.
    var temporaryName: String { "_new_\(table.name)" }
  }

  let mapping: MappingInference
  let source: Schema
  let destination: Schema
  let tables: [TablePlan]
  /// The tables of the source that are read after the migration of the rows, under ``keptName(_:)``.
  let keptTables: Set<String>
  /// What is added to the keys of rows that go from one family to another, by the indexes of the roots.
  private var offsets: [[Int]: Int64] = [:]

  /// - Parameter nextKey: the first key that is free in a table of the source.
  init(
    _ mapping: MappingInference, source: Schema, destination: Schema, keptTables: Set<String>,
    nextKey: (SchemaTable) -> Int64
  ) {
    self.keptTables = keptTables
    self.mapping = mapping
    self.source = source
    self.destination = destination
    var offsets: [[Int]: Int64] = [:]
    tables = destination.tables.map { table in
      let pairs = table.members.compactMap { entity in mapping.entities[entity.index].map { (entity, $0) } }
      // The rows of the table that the root comes from keep their keys.
      var next: Int64 = 1
      for (_, origin) in pairs where offsets[[origin.root.index, table.root.index]] == nil {
        let offset = next - 1
        offsets[[origin.root.index, table.root.index]] = offset
        next = offset + nextKey(source.table(of: origin))
      }
      let contributions = pairs.map { entity, origin in
        Contribution(
          entity: entity, origin: origin, source: source.table(of: origin),
          offset: offsets[[origin.root.index, table.root.index]] ?? 0)
      }
      return TablePlan(table: table, contributions: contributions, nextKey: next)
    }
    self.offsets = offsets
  }

  /// The name of a table of the source while the new one has its name.
  static func keptName(_ table: String) -> String { "_old_\(table)" }

  /// What is added to the keys of a reference.
  func offset(from origin: Entity, to entity: Entity) -> Int64 {
    offsets[[origin.root.index, entity.root.index]] ?? 0
  }

  /// Whether the rows of a table can stay as they are.
  func isUnchanged(_ plan: TablePlan) -> Bool {
    guard let old = source.tables.first(where: { $0.name == plan.table.name }), !keptTables.contains(old.name),
      old.tellsEntity == plan.table.tellsEntity, Set(old.columns) == Set(plan.table.columns),
      plan.contributions.count == old.members.count,
      plan.contributions.allSatisfy({ $0.source.name == old.name && $0.entity.name == $0.origin.name && $0.offset == 0 }
      )
    else { return false }
    return plan.contributions.allSatisfy { RowMapping(self, $0).isIdentity }
  }
}
