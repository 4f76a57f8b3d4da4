import ObjectModel
import SQLGeneration

/// What the columns of a row are computed from when it goes from a table of the old model into one of the new.
struct RowMapping {
  /// SQL by the name of the new column; columns of other entities of the family are missing.
  private(set) var expressions: [String: String] = [:]
  /// The values of the parameters in the expressions.
  private(set) var bindings: [SQLBinding] = []

  init(_ plan: MigrationPlan, _ contribution: MigrationPlan.Contribution) {
    for property in contribution.entity.properties where property.isPersistent {
      if property.storage == .reference {
        addReference(property, plan.mapping.linkOrigin(of: property, in: contribution.entity), plan)
      } else if let mapping = plan.mapping.attributeMapping(of: property, in: contribution.entity) {
        addAttribute(property, mapping)
      } else if let origin = plan.mapping.origin(of: property, in: contribution.entity) {
        expressions[property.columnName] = SchemaName.quoted(origin.columnName)
      }
    }
  }

  /// Whether every column has what the column of its name had.
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
  private mutating func addReference(_ property: Property, _ origin: Property?, _ plan: MigrationPlan) {
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
