import Foundation

extension PredicateScope {
  fileprivate func condition(_ expression: Any) throws(ConditionError) -> Condition {
    try convert(expression).condition(expression)
  }
}

extension PredicateExpressions.Conjunction: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .condition(.and([try scope.condition(lhs), try scope.condition(rhs)]))
  }
}

extension PredicateExpressions.Disjunction: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .condition(.or([try scope.condition(lhs), try scope.condition(rhs)]))
  }
}

extension PredicateExpressions.Negation: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    .condition(.not(try scope.condition(wrapped)))
  }
}

extension PredicateExpressions.Conditional: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    let test = try scope.condition(test)
    return .condition(
      .or([.and([test, try scope.condition(trueBranch)]), .and([.not(test), try scope.condition(falseBranch)])]))
  }
}
