import Foundation
import ObjectModel

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
  ) throws(ConditionError) -> (collection: Operand.Collection, variable: String, condition: Condition) {
    guard let (collection, filterVariable, filter) = try convert(sequence).collection else {
      throw unsupported(sequence, "is no relationship")
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
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    let elements = try scope.elements(of: sequence, variable.key, test)
    return .condition(.exists(elements.collection, variable: elements.variable, elements.condition))
  }
}

extension PredicateExpressions.SequenceAllSatisfy: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    let elements = try scope.elements(of: sequence, variable.key, test, isNegated: true)
    return .condition(.not(.exists(elements.collection, variable: elements.variable, elements.condition)))
  }
}

extension PredicateExpressions.Filter: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    let elements = try scope.elements(of: sequence, variable.key, filter)
    return .filtered(elements.collection, variable: elements.variable, elements.condition)
  }
}

extension PredicateExpressions.Arithmetic: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
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
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .operand(.arithmetic(try scope.convert(lhs).operand(lhs), .remainder, try scope.convert(rhs).operand(rhs)))
  }
}

extension PredicateExpressions.FloatDivision: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .operand(.arithmetic(try scope.convert(lhs).operand(lhs), .divide, try scope.convert(rhs).operand(rhs)))
  }
}

extension PredicateExpressions.IntDivision: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .operand(.arithmetic(try scope.convert(lhs).operand(lhs), .divide, try scope.convert(rhs).operand(rhs)))
  }
}
