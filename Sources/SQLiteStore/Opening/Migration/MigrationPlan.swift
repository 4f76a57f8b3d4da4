import ObjectModel
import SQLGeneration

/// The migration of a store's tables to another model: which rows go where, under which keys.
struct MigrationPlan {
  /// The rows of one entity of the old model that go into one table of the new one.
  struct Contribution {
    let entity: Entity
    let origin: Entity
    let source: SchemaTable
    /// The number that is added to the keys, because several tables become one.
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
  /// The number that is added to the keys of rows that go from one family to another, by the indexes of the roots.
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

  /// Returns the number that is added to the keys of a reference.
  func offset(from origin: Entity, to entity: Entity) -> Int64 {
    offsets[[origin.root.index, entity.root.index]] ?? 0
  }

  /// True if the rows of a table can stay as they are.
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

/// The expressions that compute the columns of a row of the new model from a table of the old one.
struct RowMapping {
  /// SQL by the name of the new column; columns of other entities of the family are missing.
  private(set) var expressions: [String: String] = [:]
  /// The values of the parameters in the expressions.
  private(set) var bindings: [SQLBinding] = []

  init(_ plan: MigrationPlan, _ contribution: MigrationPlan.Contribution) {
    for property in contribution.entity.properties where property.isPersistent {
      if property.storage == .reference {
        addReference(property, plan.mapping.linkOrigin(of: property, in: contribution.entity), plan: plan)
      } else if let mapping = plan.mapping.attributeMapping(of: property, in: contribution.entity) {
        addAttribute(property, mapping)
      } else if let origin = plan.mapping.origin(of: property, in: contribution.entity) {
        expressions[property.columnName] = SchemaName.quoted(origin.columnName)
      }
    }
  }

  /// True if every column has what the column of its name had.
  var isIdentity: Bool {
    bindings.isEmpty && expressions.allSatisfy { $1 == SchemaName.quoted($0) }
  }

  /// SQL for a value that is to be converted; null where it can't be, or would not survive.
  static func conversion(_ conversion: ValueConversion, of column: String, rounds: Bool) -> String {
    let types = [conversion.source, conversion.target].map { SchemaName.literal($0.rawValue) }.joined(separator: ", ")
    return "bobbin_convert(\(column), \(types), \(rounds ? 1 : 0))"
  }

  private mutating func addAttribute(_ property: Property, _ mapping: MappingInference.AttributeMapping) {
    guard let type = property.attribute?.type else { return }
    let missing = SQLBinding(mapping.missing, as: type)
    guard let origin = mapping.origin else {
      expressions[property.columnName] = missing == .null ? "NULL" : parameter(missing)
      return
    }
    let column = SchemaName.quoted(origin.columnName)
    var value = column
    if let conversion = mapping.conversion {
      value = Self.conversion(conversion, of: column, rounds: mapping.isStated)
      if case .replace(let replacement) = mapping.fallback, !replacement.isNull {
        let replaced = parameter(SQLBinding(replacement, as: type))
        value = "CASE WHEN \(column) IS NOT NULL THEN coalesce(\(value), \(replaced)) END"
      }
    }
    expressions[property.columnName] = missing == .null ? value : "coalesce(\(value), \(parameter(missing)))"
  }

  /// - Parameter origin: the relationship whose links are taken over, if there is one.
  private mutating func addReference(_ property: Property, _ origin: Property?, plan: MigrationPlan) {
    let entityColumn = property.entityColumnName
    guard let origin, origin.storage == .reference, origin.isPersistent, let former = origin.destination,
      let destination = property.destination
    else {
      expressions[property.columnName] = "NULL"
      if let entityColumn { expressions[entityColumn] = "NULL" }
      return
    }
    let column = SchemaName.quoted(origin.columnName)
    let offset = plan.offset(from: former, to: destination)
    expressions[property.columnName] = offset == 0 ? column : "\(column) + \(offset)"
    guard let entityColumn else { return }
    if let formerColumn = origin.entityColumnName {
      let quoted = SchemaName.quoted(formerColumn)
      let renamed = former.withDescendants.compactMap { entity in
        plan.mapping.successor(of: entity).flatMap { $0.name == entity.name ? nil : (entity.name, $0.name) }
      }
      let cases = renamed.map { "WHEN \(SchemaName.literal($0)) THEN \(SchemaName.literal($1))" }
      expressions[entityColumn] =
        cases.isEmpty ? quoted : "CASE \(quoted) \(cases.joined(separator: " ")) ELSE \(quoted) END"
    } else {
      let name = plan.mapping.successor(of: former)?.name ?? destination.name
      expressions[entityColumn] = "CASE WHEN \(column) IS NOT NULL THEN \(SchemaName.literal(name)) END"
    }
  }

  private mutating func parameter(_ value: SQLBinding) -> String {
    bindings.append(value)
    return "?\(bindings.count)"
  }
}
