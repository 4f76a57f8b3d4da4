package import ObjectModel

/// The migration of a store's tables to another model: which rows go where, under which keys.
package struct MigrationPlan: Sendable {
  /// The rows of one entity of the old model that go into one table of the new one.
  package struct Contribution: Sendable {
    package let entity: Entity
    package let origin: Entity
    package let source: SchemaTable
    /// The number that is added to the keys, because several tables become one.
    let offset: Int64

    /// The WHERE clause for the rows of the source.
    var condition: String {
      source.tellsEntity ? " WHERE \(SchemaName.entity) = \(SchemaName.literal(origin.name))" : ""
    }
  }

  package struct TablePlan: Sendable {
    package let table: SchemaTable
    package let contributions: [Contribution]
    /// The first key that is free in the table.
    let nextKey: Int64

    /// The name of the table while the old ones are still there.
    func temporaryName(_ dialect: Dialect) -> String { dialect.name("_new_\(table.root.name)") }
  }

  /// The way of a table to the new model.
  enum Change {
    case none
    /// Columns come, are filled, and go.
    case inPlace(added: [String], dropped: [String])
    /// The table is built anew.
    case rebuilt
  }

  package let mapping: MappingInference
  package let source: Schema
  package let destination: Schema
  package let tables: [TablePlan]
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

  package var dialect: Dialect { destination.dialect }

  /// The name of a table of the source while the new one has its name.
  func keptName(_ table: SchemaTable) -> String { dialect.name("_old_\(table.root.name)") }

  /// Returns the number that is added to the keys of a reference.
  func offset(from origin: Entity, to entity: Entity) -> Int64 {
    offsets[[origin.root.index, entity.root.index]] ?? 0
  }

  /// All conversions of values, so that a database can prepare for them.
  var conversions: [ColumnConversion] {
    var found: [ColumnConversion] = []
    for contribution in tables.flatMap(\.contributions) {
      for property in contribution.entity.properties {
        guard let conversion = conversion(of: property, in: contribution), !found.contains(conversion) else { continue }
        found.append(conversion)
      }
    }
    return found
  }

  /// The conversion of a property's values; nil if they stay as they are.
  func conversion(of property: Property, in contribution: Contribution) -> ColumnConversion? {
    guard let mapping = mapping.attributeMapping(of: property, in: contribution.entity),
      let conversion = mapping.conversion, let origin = mapping.origin
    else { return nil }
    return ColumnConversion(
      table: contribution.source.name, column: dialect.columnName(of: origin), conversion: conversion,
      rounds: mapping.isStated)
  }

  /// The way of a table; one without rows to take over has none.
  func change(of plan: TablePlan) -> Change {
    if plan.contributions.isEmpty { return .none }
    guard let old = source.tables.first(where: { $0.name == plan.table.name }), !keptTables.contains(old.name),
      old.tellsEntity == plan.table.tellsEntity, plan.contributions.count == old.members.count,
      plan.contributions.allSatisfy({ $0.source.name == old.name && $0.entity.name == $0.origin.name && $0.offset == 0 }
      )
    else { return .rebuilt }
    let (before, after) = (Set(old.columns), Set(plan.table.columns))
    let kept = Set(before.intersection(after).map(\.name))
    let isKept = plan.contributions.allSatisfy { contribution in
      RowMapping(self, contribution).expressions.allSatisfy { !kept.contains($0) || $1 == SchemaName.quoted($0) }
    }
    if !isKept { return .rebuilt }
    if before == after { return .none }
    let names = (before.map(\.name), after.map(\.name))
    // A column that stays under its name with another type can't be beside itself.
    guard dialect.changesColumnsInPlace, Set(names.0).intersection(names.1) == kept else { return .rebuilt }
    return .inPlace(
      added: plan.table.columns.map(\.name).filter { !kept.contains($0) },
      dropped: old.columns.map(\.name).filter { !kept.contains($0) })
  }
}

/// The expressions that compute the columns of a row of the new model from a table of the old one.
struct RowMapping {
  /// SQL by the name of the new column; columns of other entities of the family are missing.
  private(set) var expressions: [String: String] = [:]
  /// The values of the parameters in the expressions.
  private(set) var bindings: [SQLBinding] = []
  /// The columns whose expressions have parameters.
  private(set) var computedColumns: Set<String> = []
  private let dialect: Dialect

  init(_ plan: MigrationPlan, _ contribution: MigrationPlan.Contribution) {
    dialect = plan.dialect
    for property in contribution.entity.properties where property.isPersistent {
      if property.storage == .reference {
        addReference(property, plan.mapping.linkOrigin(of: property, in: contribution.entity), plan: plan)
      } else if let mapping = plan.mapping.attributeMapping(of: property, in: contribution.entity) {
        addAttribute(property, mapping, converting: plan.conversion(of: property, in: contribution))
      } else if let origin = plan.mapping.origin(of: property, in: contribution.entity) {
        expressions[dialect.columnName(of: property)] = SchemaName.quoted(dialect.columnName(of: origin))
      }
    }
  }

  private mutating func addAttribute(
    _ property: Property, _ mapping: MappingInference.AttributeMapping, converting conversion: ColumnConversion?
  ) {
    guard let type = property.attribute?.type else { return }
    let name = dialect.columnName(of: property)
    let missing = SQLBinding(mapping.missing, as: type)
    let fileName = dialect.fileColumnName(of: property)
    if let fileName { expressions[fileName] = "NULL" }
    let count = bindings.count
    defer { if bindings.count > count { computedColumns.insert(name) } }
    // What can't be converted is a problem that is told, or is computed anew.
    guard let origin = mapping.origin, origin.storage == property.storage || conversion != nil else {
      expressions[name] = missing == .null ? "NULL" : parameter(missing)
      return
    }
    let column = SchemaName.quoted(dialect.columnName(of: origin))
    var value = column
    if let conversion {
      value = dialect.converted(conversion)
      if case .replace(let replacement) = mapping.fallback, !replacement.isNull {
        let replaced = parameter(SQLBinding(replacement, as: type))
        value = "CASE WHEN \(column) IS NOT NULL THEN coalesce(\(value), \(replaced)) END"
      }
    }
    if missing != .null { value = "coalesce(\(value), \(parameter(missing)))" }
    if let formerFile = dialect.fileColumnName(of: origin).map(SchemaName.quoted) {
      let isApart = "\(formerFile) IS NOT NULL"
      if let fileName {
        expressions[fileName] = formerFile
        if missing != .null { value = "CASE WHEN \(isApart) THEN NULL ELSE \(value) END" }
      } else {
        value = "CASE WHEN \(isApart) THEN \(dialect.largeValue(named: formerFile)) ELSE \(value) END"
      }
    }
    expressions[name] = value
  }

  /// - Parameter origin: the relationship whose links are taken over, if there is one.
  private mutating func addReference(_ property: Property, _ origin: Property?, plan: MigrationPlan) {
    let name = dialect.columnName(of: property)
    let entityColumn = dialect.entityColumnName(of: property)
    guard let origin, origin.storage == .reference, origin.isPersistent, let former = origin.destination,
      let destination = property.destination
    else {
      expressions[name] = "NULL"
      if let entityColumn { expressions[entityColumn] = "NULL" }
      return
    }
    let column = SchemaName.quoted(dialect.columnName(of: origin))
    let offset = plan.offset(from: former, to: destination)
    expressions[name] = offset == 0 ? column : "\(column) + \(offset)"
    guard let entityColumn else { return }
    if let formerColumn = dialect.entityColumnName(of: origin) {
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
    return dialect.parameter(bindings.count)
  }
}
