internal import Foundation
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
      let origin = plan.mapping.origin(of: property, in: contribution.entity)
      let stored = origin.flatMap { $0.isPersistent ? $0 : nil }
      if property.storage == .reference {
        addReference(property, stored, plan)
      } else if let attribute = property.attribute {
        addAttribute(attribute, stored)
      }
    }
  }

  /// Whether every column has what the column of its name had.
  var isIdentity: Bool {
    bindings.isEmpty && expressions.allSatisfy { $1 == SchemaName.quoted($0) }
  }

  private mutating func addAttribute(_ attribute: AttributeDescription, _ origin: Property?) {
    let value = attribute.derivation == nil ? Self.binding(attribute) : .null
    guard let origin else {
      expressions[attribute.name] = value == .null ? "NULL" : parameter(value)
      return
    }
    let column = SchemaName.quoted(origin.name)
    let needsValue = !attribute.isOptional && origin.isOptional && value != .null
    expressions[attribute.name] = needsValue ? "coalesce(\(column), \(parameter(value)))" : column
  }

  private mutating func addReference(_ property: Property, _ origin: Property?, _ plan: MigrationPlan) {
    let entityColumn = SchemaName.entityColumn(of: property)
    guard let origin, origin.storage == .reference, let former = origin.destination,
      let destination = property.destination
    else {
      expressions[property.name] = "NULL"
      if let entityColumn { expressions[entityColumn] = "NULL" }
      return
    }
    let column = SchemaName.quoted(origin.name)
    let offset = plan.offset(from: former, to: destination)
    expressions[property.name] = offset == 0 ? column : "\(column) + \(offset)"
    guard let entityColumn else { return }
    if let formerColumn = SchemaName.entityColumn(of: origin) {
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

  /// An attribute's default as a column holds it.
  private static func binding(_ attribute: AttributeDescription) -> SQLBinding {
    switch attribute.defaultValue.converted(to: attribute.type) ?? .null {
    case .null: .null
    case .integer(let number): attribute.type.storage == .real ? .double(Double(number)) : .integer(number)
    case .double(let number): .double(number)
    case .boolean(let value): .integer(value ? 1 : 0)
    case .string(let text): .text(text)
    case .decimal(let number): .text(number.description)
    case .date(let date): .double(date.timeIntervalSinceReferenceDate)
    case .data(let data): .blob(Array(data))
    case .uuid(let uuid): .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
    case .url(let url): .text(url.absoluteString)
    }
  }
}
