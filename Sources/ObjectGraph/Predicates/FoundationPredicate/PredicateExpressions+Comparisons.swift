import Foundation
import ObjectModel

extension PredicateExpressions.Equal: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .condition(try scope.convert(lhs).comparison(.equal, scope.convert(rhs), self))
  }
}

extension PredicateExpressions.NotEqual: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .condition(try scope.convert(lhs).comparison(.notEqual, scope.convert(rhs), self))
  }
}

extension PredicateExpressions.Comparison: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    let comparison: Condition.Comparison
    switch op {
    case .lessThan: comparison = .less
    case .lessThanOrEqual: comparison = .lessOrEqual
    case .greaterThan: comparison = .greater
    case .greaterThanOrEqual: comparison = .greaterOrEqual
    @unknown default: throw unsupported(self)
    }
    return .condition(try scope.convert(lhs).comparison(comparison, scope.convert(rhs), self))
  }
}

extension PredicateExpressions.Range: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .range(
      lower: try scope.convert(lower).operand(lower), upper: try scope.convert(upper).operand(upper),
      includesUpper: false)
  }
}

extension PredicateExpressions.ClosedRange: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .range(
      lower: try scope.convert(lower).operand(lower), upper: try scope.convert(upper).operand(upper),
      includesUpper: true)
  }
}

extension PredicateExpressions.RangeExpressionContains: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    guard case .range(let lower, let upper, let includesUpper) = try scope.convert(range) else {
      throw unsupported(self)
    }
    let element = try scope.convert(element)
    var parts: [Condition] = []
    if let lower { parts.append(try element.comparison(.greaterOrEqual, .operand(lower), self)) }
    if let upper { parts.append(try element.comparison(includesUpper ? .lessOrEqual : .less, .operand(upper), self)) }
    return .condition(.and(parts))
  }
}

extension PredicateExpressions.SequenceContains: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
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
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    let sides = (try scope.convert(base).operand(base), try scope.convert(other).operand(other))
    return .condition(.compare(sides.0, .contains, sides.1, []))
  }
}

extension PredicateExpressions.SequenceStartsWith: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    let sides = (try scope.convert(base).operand(base), try scope.convert(prefix).operand(prefix))
    return .condition(.compare(sides.0, .beginsWith, sides.1, []))
  }
}
