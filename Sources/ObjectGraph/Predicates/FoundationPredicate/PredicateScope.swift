import Foundation

/// The variables of a `#Predicate` with their operands, while it is converted.
struct PredicateScope {
  var variables: [PredicateExpressions.VariableID: Operand]

  /// Returns the scope with one more variable, such as that of an optional chain.
  func binding(_ variable: PredicateExpressions.VariableID, to operand: Operand) -> PredicateScope {
    var scope = self
    scope.variables[variable] = operand
    return scope
  }

  /// - Throws: ``ConditionError`` that names the kind of the expression if it has no equivalent.
  func convert(_ expression: Any) throws(ConditionError) -> ConvertedExpression {
    guard let convertible = expression as? any ConvertibleExpression else { throw unsupported(expression) }
    return try convertible.converted(in: self)
  }
}

/// An expression of a `#Predicate` that can be converted.
protocol ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression
}

/// Returns the error for an expression without an equivalent, named by its kind: `Arithmetic`, `SequenceAllSatisfy`.
func unsupported(_ expression: Any, _ reason: String = "has no equivalent in a store") -> ConditionError {
  let name = String(describing: type(of: expression))
  return ConditionError(.unsupported, "a part of the #Predicate \(reason)", fragment: String(name.prefix { $0 != "<" }))
}
