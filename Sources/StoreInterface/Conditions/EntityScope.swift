import Foundation
package import ObjectModel

/// The meaning of a condition's names at one place: the entity under test, and the entities of the variables.
package struct EntityScope: Sendable {
  package let entity: Entity
  /// True if transient attributes have values.
  let includesTransient: Bool
  /// The entities of subqueries' elements, outermost first.
  private var variables: [(name: String, entity: Entity)] = []

  package init(_ entity: Entity, includesTransient: Bool = false) {
    self.entity = entity
    self.includesTransient = includesTransient
  }

  var variableCount: Int { variables.count }

  /// The scope inside of a subquery.
  package func binding(_ name: String, to entity: Entity) -> EntityScope {
    var scope = self
    scope.variables.append((name, entity))
    return scope
  }

  /// The place of a variable among those around, innermost first in case of equal names; nil if it is not bound.
  package func index(of variable: String) -> Int? { variables.lastIndex { $0.name == variable } }

  package func entity(of variable: String?) throws -> Entity {
    guard let variable else { return entity }
    guard let index = index(of: variable) else {
      throw ConditionError(
        .argument, "the variable has no value; give it one with substituting(_:)", fragment: "$\(variable)")
    }
    return variables[index].entity
  }

  /// The properties on a path from the object under test, or from a subquery's element.
  package func path(_ names: [String], from variable: String?) throws -> PropertyPath {
    try PropertyPath(names, from: try entity(of: variable), includesTransient: includesTransient)
  }

  // MARK: To-many relationships

  /// The to-one relationships that lead to a collection's owner, and the collection itself.
  package func path(of collection: Operand.Collection) throws -> (toOne: [Property], toMany: Property) {
    var owner = try entity(of: collection.variable)
    var toOne: [Property] = []
    guard let last = collection.path.last else {
      throw ConditionError(.unknownProperty, "a collection needs the name of a to-many relationship")
    }
    if collection.path.count > 1 {
      let path = try path(Array(collection.path.dropLast()), from: collection.variable)
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
  package func destination(of collection: Operand.Collection) throws -> Entity {
    guard let destination = try path(of: collection).toMany.destination else {
      throw ConditionError(.unknownProperty, "the relationship leads nowhere", fragment: "\(collection)")
    }
    return destination
  }

  /// The index of the first to-many relationship on a path; nil if there is none.
  func endOfToMany(_ names: [String], from variable: String?) throws -> Int? {
    var entity: Entity? = try entity(of: variable)
    for (index, name) in names.enumerated() {
      guard let property = entity?.property(named: name) else { return nil }
      if property.storage == .toMany { return index }
      entity = property.destination
    }
    return nil
  }

  // MARK: Names that no property has

  /// Returns the end of a path that is no property but known of all objects: `objectID`, `self`, `entity`, `entity.name`.
  func meaning(of names: [String], from variable: String?) -> Operand? {
    for ending in [["objectID"], ["self"], ["entity"], ["entity", "name"]]
    where names.suffix(ending.count) == ending[...] {
      var owner = Array(names.dropLast(ending.count))
      if let meant = meaning(of: owner, from: variable)?.path { owner = meant.names }
      guard let entity = destination(of: owner, from: variable), entity.property(named: ending[0]) == nil else {
        continue
      }
      let object = Operand(path: owner, from: variable)
      return ending[0] == "entity" ? .entityName(object) : object
    }
    return nil
  }

  /// The entity that a path of to-one relationships leads to.
  private func destination(of names: [String], from variable: String?) -> Entity? {
    guard var entity = try? entity(of: variable) else { return nil }
    for name in names {
      guard let property = entity.property(named: name), property.storage == .reference,
        let destination = property.destination
      else { return nil }
      entity = destination
    }
    return entity
  }

  /// The entity of the objects that an operand stands for, with those that inherit from it; nil for no objects.
  package func entity(ofObjects operand: Operand) throws -> Entity? {
    switch operand.path {
    case (let variable, let names)?: names.isEmpty ? try entity(of: variable) : destination(of: names, from: variable)
    case nil: nil
    }
  }

  // MARK: Types

  /// The type of what depends on an object; nil if the operand is a constant.
  package func type(of operand: Operand) throws -> OperandType? {
    switch operand {
    case .value, .object: return nil
    case .variable(let name): return OperandType(objectsOf: try entity(of: name))
    case .variablePath(let name, let names): return try path(names, from: name).type
    case .evaluatedObject: return OperandType(objectsOf: entity)
    case .keyPath(let names): return try path(names, from: nil).type
    case .aggregate(let aggregation, let collection, let variable, _):
      let element = binding(variable, to: try destination(of: collection))
      return try element.type(of: aggregation, operand)
    case .arithmetic(let left, let arithmetic, let right):
      return try type(of: arithmetic, left, right: right, whole: operand)
    case .function(let function, let inner): return try type(of: function, inner, operand)
    case .entityName(let object):
      if try entity(ofObjects: object) != nil { return .text }
      throw ConditionError(.typeMismatch, "only objects have an entity", fragment: "\(operand)")
    }
  }

  /// Returns the type by which two operands of a resolved comparison are compared: decimal if one is, else the left's.
  package func comparedType(_ left: Operand, _ right: Operand?) throws -> OperandType {
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

/// The types of what is computed.
extension EntityScope {
  /// The type of a constant, too.
  private func anyType(of operand: Operand) throws -> OperandType? {
    if case .value(let value) = operand { return OperandType(value) }
    return try type(of: operand)
  }

  /// The type of a number; dates count as the seconds since 2001.
  private func number(_ operand: Operand, _ whole: Operand) throws -> OperandType {
    let type = try anyType(of: operand)
    switch type {
    case .integer?, .real?, .decimal?: return type ?? .real
    case .date?: return .real
    case .null?: return .integer
    default:
      throw ConditionError(
        .typeMismatch, "only numbers and dates can be computed with, not " + (type?.name ?? "an object"),
        fragment: "\(whole)")
    }
  }

  func type(
    of arithmetic: Operand.Arithmetic, _ left: Operand, right: Operand, whole: Operand
  ) throws -> OperandType {
    let types = (try number(left, whole), try number(right, whole))
    let hasDecimal = types.0 == .decimal || types.1 == .decimal
    switch arithmetic {
    case .remainder where types != (.integer, .integer):
      throw ConditionError(.typeMismatch, "only integers have a remainder", fragment: "\(whole)")
    case .power where hasDecimal:
      throw ConditionError(.unsupported, "decimal numbers have no powers; CAST them to NSNumber", fragment: "\(whole)")
    case .power: return .real
    default: break
    }
    if hasDecimal && (types.0 == .real || types.1 == .real) {
      throw ConditionError(
        .typeMismatch, "a decimal number can't be computed with a floating-point number; CAST it to NSNumber",
        fragment: "\(whole)")
    }
    return hasDecimal ? .decimal : types == (.integer, .integer) ? .integer : .real
  }

  func type(
    of function: Operand.Function, _ operand: Operand, _ whole: Operand
  ) throws -> OperandType {
    let type = try anyType(of: operand)
    switch function {
    case .absolute, .ceiling, .floor, .truncate: return try number(operand, whole)
    case .squareRoot, .exponential, .naturalLogarithm, .logarithm, .castToDate:
      if try number(operand, whole) == .decimal {
        throw ConditionError(
          .typeMismatch, "\(function.rawValue) takes no decimal number; CAST it to NSNumber", fragment: "\(whole)")
      }
      return function == .castToDate ? .date : .real
    case .castToNumber, .castToText:
      switch type {
      case .integer?, .real?, .decimal?, .text?, .uri?, .null?: break
      case .date?, .boolean?: if function == .castToText { fallthrough }
      default:
        throw ConditionError(.typeMismatch, "\(type?.name ?? "an object") can't be cast so", fragment: "\(whole)")
      }
      return function == .castToNumber ? .real : .text
    case .lowercase, .uppercase, .length:
      guard let type, type.isText || type == .null else {
        throw ConditionError(
          .typeMismatch, "\(function.rawValue) takes a text, not \(type?.name ?? "an object")", fragment: "\(whole)")
      }
      return function == .length ? .integer : .text
    }
  }

  /// The type of an aggregation; this is the scope of its operand.
  func type(of aggregation: Operand.Aggregation, _ whole: Operand) throws -> OperandType {
    guard let operand = aggregation.operand else { return .integer }
    let type = try anyType(of: operand)
    switch (aggregation, type) {
    case (.sum, .integer?), (.sum, .real?), (.sum, .decimal?), (.average, .decimal?): return type ?? .real
    case (.average, .integer?), (.average, .real?): return .real
    case (.min, .object?), (.max, .object?), (.min, .data?), (.max, .data?): break
    case (.min, let type?), (.max, let type?): return type
    default: break
    }
    throw ConditionError(
      .typeMismatch, "that can't be computed of \(type?.name ?? "objects")", fragment: "\(whole)")
  }

  /// Arithmetic in which constants fit the numbers that they are computed with.
  func fitting(_ left: Operand, _ arithmetic: Operand.Arithmetic, right: Operand) -> Operand {
    func isDecimal(_ operand: Operand) -> Bool { (try? anyType(of: operand)) == .decimal }
    func fitted(_ operand: Operand, with other: Operand) -> Operand {
      guard case .value(let value) = operand, isDecimal(other), let decimal = value.comparable(with: .decimal) else {
        return operand
      }
      return .value(decimal)
    }
    return .arithmetic(fitted(left, with: right), arithmetic, fitted(right, with: left))
  }
}
