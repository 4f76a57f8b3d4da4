public import Foundation

extension Condition {
  /// Converts a `#Predicate` of a managed object's class to a condition.
  ///
  /// Differences from running the predicate in Swift: texts are equal if their code points are, `!` on nil is a
  /// comparison with nil instead of a trap, and values of optional attributes compare by ``Condition``'s rules.
  ///
  /// - Throws: ``ConditionError`` that names the kind of the first expression that has no equivalent in a store.
  public init<Object: ManagedObject>(_ predicate: Foundation.Predicate<Object>) throws(ConditionError) {
    let scope = PredicateScope(variables: [predicate.variable.key: .evaluatedObject])
    self = try scope.convert(predicate.expression).condition(predicate.expression)
  }
}
