package import ObjectModel

/// What the names of a condition stand for: the entity under test, and those of the variables around a place.
package struct EntityScope: Sendable {
  package let entity: Entity
  /// The entities of subqueries' elements, outermost first.
  private var variables: [(name: String, entity: Entity)] = []

  package init(_ entity: Entity) { self.entity = entity }

  package var isInSubquery: Bool { !variables.isEmpty }
  var variableCount: Int { variables.count }

  /// The scope inside of a subquery.
  package func binding(_ name: String, to entity: Entity) -> EntityScope {
    var scope = self
    scope.variables.append((name, entity))
    return scope
  }

  /// The place of a variable among those around, innermost first in case of equal names; nil if it is not bound.
  package func index(of variable: String) -> Int? { variables.lastIndex { $0.name == variable } }

  package func entity(of variable: String?) throws(ConditionError) -> Entity {
    guard let variable else { return entity }
    guard let index = index(of: variable) else {
      throw ConditionError(
        .argument, "the variable has no value; give it one with substituting(_:)", fragment: "$\(variable)")
    }
    return variables[index].entity
  }

  // MARK: To-many relationships

  /// The to-one relationships that lead to a collection's owner, and the collection itself.
  package func path(of collection: Operand.Collection) throws(ConditionError) -> (toOne: [Property], toMany: Property) {
    var owner = try entity(of: collection.variable)
    var toOne: [Property] = []
    guard let last = collection.path.last else {
      throw ConditionError(.unknownProperty, "a collection needs the name of a to-many relationship")
    }
    if collection.path.count > 1 {
      let path = try PropertyPath(Array(collection.path.dropLast()), from: owner)
      guard path.last.storage == .reference, let destination = path.last.destination else {
        throw ConditionError(
          .unknownProperty, "only relationships can lead to a collection", fragment: "\(collection)")
      }
      toOne = path.properties
      owner = destination
    }
    guard let property = owner.property(named: last) else {
      throw ConditionError(
        .unknownProperty, PropertyPath.message(last, owner), fragment: "\(collection)")
    }
    guard property.storage == .toMany else {
      throw ConditionError(
        .typeMismatch, "\(owner.name).\(last) is no to-many relationship", fragment: "\(collection)")
    }
    return (toOne, property)
  }

  /// The entity of a collection's elements.
  package func destination(of collection: Operand.Collection) throws(ConditionError) -> Entity {
    guard let destination = try path(of: collection).toMany.destination else {
      throw ConditionError(.unknownProperty, "the relationship leads nowhere", fragment: "\(collection)")
    }
    return destination
  }

  /// The index of the first to-many relationship on a path; nil if there is none.
  func endOfToMany(_ names: [String], from variable: String?) throws(ConditionError) -> Int? {
    var entity: Entity? = try entity(of: variable)
    for (index, name) in names.enumerated() {
      guard let property = entity?.property(named: name) else { return nil }
      if property.storage == .toMany { return index }
      entity = property.destination
    }
    return nil
  }

  /// Whether a path from the object under test goes through a to-many relationship.
  func isToMany(_ names: [String]) throws(ConditionError) -> Bool { try endOfToMany(names, from: nil) != nil }

  // MARK: Types

  /// The type of what depends on an object; nil if the operand is a constant.
  package func type(of operand: Operand) throws(ConditionError) -> OperandType? {
    switch operand {
    case .value, .object: return nil
    case .variable(let name): return OperandType(objectsOf: try entity(of: name))
    case .variablePath(let name, let names): return try PropertyPath(names, from: try entity(of: name)).type
    case .evaluatedObject: return OperandType(objectsOf: entity)
    case .keyPath(let names): return try PropertyPath(names, from: entity).type
    case .count(let collection, _, _):
      _ = try path(of: collection)
      return .integer
    case .arithmetic(let left, let arithmetic, let right):
      let types = (try number(left, operand), try number(right, operand))
      _ = arithmetic
      return types == (.integer, .integer) ? .integer : .real
    case .function(let function, let inner): return try type(of: function, inner, operand)
    }
  }

  private func number(_ operand: Operand, _ whole: Operand) throws(ConditionError) -> OperandType {
    let type: OperandType?
    if case .value(let value) = operand { type = OperandType(value) } else { type = try self.type(of: operand) }
    switch type {
    case .integer, .real, .date: return type == .date ? .real : type ?? .real
    case .null: return .integer
    default:
      throw ConditionError(
        .typeMismatch,
        "only integers, floating-point numbers and dates can be computed with, not "
          + (type?.name ?? "an object"), fragment: "\(whole)")
    }
  }

  private func type(
    of function: Operand.Function, _ operand: Operand, _ whole: Operand
  ) throws(ConditionError) -> OperandType {
    switch function {
    case .absolute, .ceiling, .floor: return try number(operand, whole)
    case .lowercase, .uppercase, .length:
      let type: OperandType?
      if case .value(let value) = operand { type = OperandType(value) } else { type = try self.type(of: operand) }
      guard let type, type.isText || type == .null else {
        throw ConditionError(
          .typeMismatch, "\(function.rawValue) takes a text, not \(type?.name ?? "an object")", fragment: "\(whole)")
      }
      return function == .length ? .integer : .text
    }
  }

  /// How two operands of a resolved comparison are compared: as decimals if one is, else by the type of the left one.
  package func comparedType(_ left: Operand, _ right: Operand?) throws(ConditionError) -> OperandType {
    let leftType = try isBound(left) ? type(of: left) : nil
    var rightType: OperandType?
    if let right, isBound(right) { rightType = try type(of: right) }
    if leftType == .decimal || rightType == .decimal { return .decimal }
    return leftType ?? rightType ?? .null
  }

  private func isBound(_ operand: Operand) -> Bool {
    if case .variable(let name) = operand { index(of: name) != nil } else { true }
  }
}
