import Foundation
import ObjectModel

extension PredicateScope {
  fileprivate func condition(_ expression: Any) throws -> Condition {
    try convert(expression).condition(expression)
  }
}

extension PredicateExpressions.Conjunction: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .condition(.and([try scope.condition(lhs), try scope.condition(rhs)]))
  }
}

extension PredicateExpressions.Disjunction: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .condition(.or([try scope.condition(lhs), try scope.condition(rhs)]))
  }
}

extension PredicateExpressions.Negation: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .condition(.not(try scope.condition(wrapped)))
  }
}

extension PredicateExpressions.Conditional: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let test = try scope.condition(test)
    return .condition(
      .or([.and([test, try scope.condition(trueBranch)]), .and([.not(test), try scope.condition(falseBranch)])]))
  }
}

extension PredicateExpressions.Equal: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .condition(try scope.convert(lhs).comparison(.equal, scope.convert(rhs), in: self))
  }
}

extension PredicateExpressions.NotEqual: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .condition(try scope.convert(lhs).comparison(.notEqual, scope.convert(rhs), in: self))
  }
}

extension PredicateExpressions.Comparison: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let comparison: Condition.Comparison
    switch op {
    case .lessThan: comparison = .less
    case .lessThanOrEqual: comparison = .lessOrEqual
    case .greaterThan: comparison = .greater
    case .greaterThanOrEqual: comparison = .greaterOrEqual
    @unknown default: throw unsupported(self)
    }
    return .condition(try scope.convert(lhs).comparison(comparison, scope.convert(rhs), in: self))
  }
}

extension PredicateExpressions.Range: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .range(
      lower: try scope.convert(lower).operand(lower), upper: try scope.convert(upper).operand(upper),
      includesUpper: false)
  }
}

extension PredicateExpressions.ClosedRange: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .range(
      lower: try scope.convert(lower).operand(lower), upper: try scope.convert(upper).operand(upper),
      includesUpper: true)
  }
}

extension PredicateExpressions.RangeExpressionContains: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    guard case .range(let lower, let upper, let includesUpper) = try scope.convert(range) else {
      throw unsupported(self)
    }
    let element = try scope.convert(element)
    var parts: [Condition] = []
    if let lower { parts.append(try element.comparison(.greaterOrEqual, .operand(lower), in: self)) }
    if let upper {
      parts.append(try element.comparison(includesUpper ? .lessOrEqual : .less, .operand(upper), in: self))
    }
    return .condition(.and(parts))
  }
}

extension PredicateExpressions.SequenceContains: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let element = try scope.convert(element)
    switch try scope.convert(sequence) {
    case .list(let list): return .condition(.isIn(try element.operand(self), list, []))
    // A text is a sequence of characters.
    case .operand(let text) where LHS.Output.Element.self == Character.self:
      return .condition(.compare(text, .contains, try element.operand(self), []))
    case .operand(let relationship) where LHS.Output.Element.self is ManagedObject.Type:
      return .condition(.compare(relationship, .contains, try element.operand(self), []))
    default: throw unsupported(self)
    }
  }
}

extension PredicateExpressions.CollectionContainsCollection: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let sides = (try scope.convert(base).operand(base), try scope.convert(other).operand(other))
    return .condition(.compare(sides.0, .contains, sides.1, []))
  }
}

extension PredicateExpressions.SequenceStartsWith: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let sides = (try scope.convert(base).operand(base), try scope.convert(prefix).operand(prefix))
    return .condition(.compare(sides.0, .beginsWith, sides.1, []))
  }
}

extension PredicateExpressions.Variable: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    guard let operand = scope.variables[key] else { throw unsupported(self) }
    return .operand(operand)
  }
}

extension PredicateExpressions.Value: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    if let operand = Operand(constant: value) { return .operand(operand) }
    if let range = (value as? any ConstantRange).flatMap(ConvertedExpression.init(_:)) { return range }
    if let list = Operand.list(of: value) { return .list(list) }
    throw unsupported(value, "is a value that no attribute has")
  }
}

extension PredicateExpressions.NilLiteral: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression { .operand(.value(.null)) }
}

extension PredicateExpressions.KeyPath: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let converted = try scope.convert(root)
    if let counted = counted(converted) {
      switch kind {
      case .collectionCount: return .operand(counted)
      case .collectionIsEmpty: return .condition(.compare(counted, .equal, .value(.integer(0)), []))
      default: break
      }
    }
    let base = try converted.operand(root)
    if kind == .collectionCount, Root.Output.self == String.self { return .operand(.function(.length, base)) }
    if let type = Root.Output.self as? ManagedObject.Type {
      if let name = type.propertyNamesByKeyPath[keyPath] {
        switch base {
        case .evaluatedObject: return .operand(.keyPath([name]))
        case .keyPath(let names): return .operand(.keyPath(names + [name]))
        case .variable(let variable): return .operand(.variablePath(variable, [name]))
        case .variablePath(let variable, let names): return .operand(.variablePath(variable, names + [name]))
        case .value, .object, .arithmetic, .function, .aggregate, .entityName: break
        }
      }
      // The only member of the class that is an ID and not optional.
      if Output.self == ManagedObjectID.self { return .operand(base) }
    }
    if (keyPath as AnyKeyPath) == \String.isEmpty { return .condition(.compare(base, .equal, .value(.string("")), [])) }
    throw ConditionError(
      .unsupported, "a part of the #Predicate has no equivalent in a store: \(Root.Output.self) has no such attribute",
      fragment: "\(keyPath)")
  }
}

extension PredicateExpressions.ForcedUnwrap: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression { try scope.convert(inner) }
}

extension PredicateExpressions.OptionalFlatMap: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let base = try scope.convert(wrapped).operand(wrapped)
    let result = try scope.binding(variable.key, to: base).convert(transform)
    return switch result {
    case .condition(let condition): .optionalCondition(condition, presence: .not(.isNull(base)))
    case .optionalCondition(let condition, let presence):
      .optionalCondition(condition, presence: .and([.not(.isNull(base)), presence]))
    default: result
    }
  }
}

extension PredicateExpressions.NilCoalesce: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let fallback = try scope.convert(rhs)
    switch (try scope.convert(lhs), fallback) {
    case (.operand(let operand), .operand(let fallback)): return .coalesced(operand, fallback: fallback)
    case (.optionalCondition(let condition, let presence), _):
      return .condition(.or([.and([presence, condition]), .and([.not(presence), try fallback.condition(rhs)])]))
    default: throw unsupported(self)
    }
  }
}

extension PredicateExpressions.UnaryMinus: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    switch try scope.convert(wrapped) {
    case .operand(.value(.integer(let number))) where number != .min: .operand(.value(.integer(-number)))
    case .operand(.value(.double(let number))): .operand(.value(.double(-number)))
    case .operand(.value(.decimal(let number))): .operand(.value(.decimal(-number)))
    case .operand(let operand): .operand(.arithmetic(.value(.integer(0)), .subtract, operand))
    default: throw unsupported(self)
    }
  }
}

extension ConvertedExpression {
  /// The to-many relationship that the expression leads to, if any, with the condition that its elements must meet.
  fileprivate var collection: (Operand.Collection, variable: String, Condition)? {
    switch self {
    case .filtered(let collection, let variable, let condition): (collection, variable, condition)
    case .operand(.keyPath(let names)): (Operand.Collection(names), "_", .constant(true))
    case .operand(.variablePath(let variable, let names)):
      (Operand.Collection(names, from: variable), "_", .constant(true))
    default: nil
    }
  }
}

extension PredicateExpressions.KeyPath {
  /// Returns the number of elements of the collection that the key path starts from; nil if that is no relationship.
  func counted(_ base: ConvertedExpression) -> Operand? {
    guard let element = elementType(of: Root.Output.self), element is ManagedObject.Type,
      let (collection, variable, condition) = base.collection
    else { return nil }
    return .aggregate(.count, collection, variable: variable, condition)
  }
}

/// Returns the element type of a collection type; nil for other types.
private func elementType(of type: Any.Type) -> Any.Type? {
  func element<Elements: Collection>(_: Elements.Type) -> Any.Type { Elements.Element.self }
  guard let collection = type as? any Collection.Type else { return nil }
  return element(collection)
}

extension PredicateScope {
  /// Returns a condition on the elements of a collection, combined with the collection's filter.
  fileprivate func elements(
    of sequence: Any, _ key: PredicateExpressions.VariableID, _ test: Any, isNegated: Bool = false
  ) throws -> (collection: Operand.Collection, variable: String, condition: Condition) {
    guard let (collection, filterVariable, filter) = try convert(sequence).collection else {
      throw unsupported(sequence, "is not a relationship")
    }
    // The filter's variable keeps standing for the elements.
    let variable = filter == .constant(true) ? "v\(variables.count)" : filterVariable
    let inner = binding(key, to: .variable(variable))
    let condition = try inner.convert(test).condition(test)
    let wanted = isNegated ? Condition.not(condition) : condition
    return (collection, variable, filter == .constant(true) ? wanted : .and([filter, wanted]))
  }
}

extension PredicateExpressions.SequenceContainsWhere: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let elements = try scope.elements(of: sequence, variable.key, test)
    return .condition(.exists(elements.collection, variable: elements.variable, elements.condition))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let elements = try scope.elements(of: sequence, variable.key, test, isNegated: true)
    return .condition(.not(.exists(elements.collection, variable: elements.variable, elements.condition)))
  }
}

extension PredicateExpressions.Filter: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let elements = try scope.elements(of: sequence, variable.key, filter)
    return .filtered(elements.collection, variable: elements.variable, elements.condition)
  }
}

extension PredicateExpressions.Arithmetic: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    let arithmetic: Operand.Arithmetic
    switch op {
    case .add: arithmetic = .add
    case .subtract: arithmetic = .subtract
    case .multiply: arithmetic = .multiply
    @unknown default: throw unsupported(self)
    }
    return .operand(.arithmetic(try scope.convert(lhs).operand(lhs), arithmetic, try scope.convert(rhs).operand(rhs)))
  }
}

extension PredicateExpressions.IntRemainder: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .operand(.arithmetic(try scope.convert(lhs).operand(lhs), .remainder, try scope.convert(rhs).operand(rhs)))
  }
}

extension PredicateExpressions.FloatDivision: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .operand(.arithmetic(try scope.convert(lhs).operand(lhs), .divide, try scope.convert(rhs).operand(rhs)))
  }
}

extension PredicateExpressions.IntDivision: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression {
    .operand(.arithmetic(try scope.convert(lhs).operand(lhs), .divide, try scope.convert(rhs).operand(rhs)))
  }
}
