public import Foundation
import ObjectModel

extension Condition {
  /// Converts a `#Predicate` of a managed object's class to a condition.
  ///
  /// Differences from running the predicate in Swift: texts are equal if their code points are, `!` on nil is a
  /// comparison with nil instead of a trap, and values of optional attributes compare by ``Condition``'s rules.
  ///
  /// - Throws: ``ConditionError`` that names the kind of the first expression that has no equivalent in a store.
  public init<Object: ManagedObject>(_ predicate: Foundation.Predicate<Object>) throws {
    let scope = PredicateScope(variables: [predicate.variable.key: .evaluatedObject])
    self = try scope.convert(predicate.expression).condition(predicate.expression)
  }

  /// Makes the condition that a to-one relationship leads to an object.
  ///
  /// A `#Predicate` can't say that: it captures what is `Codable` only, and IDs mean nothing to another process.
  /// - Throws: ``ConditionError`` if the class has no such relationship in the model.
  package init<Object: ManagedObject, Destination: ManagedObject>(
    _ relationship: KeyPath<Object, Destination?>, leadsTo id: ManagedObjectID
  ) throws {
    guard let name = Object.propertyNamesByKeyPath[relationship] else {
      throw ConditionError(
        .unknownProperty, "\(Object.self) has no modelled relationship at the key path", fragment: "\(relationship)")
    }
    self = .compare(.keyPath([name]), .equal, .object(id), [])
  }
}

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
  func convert(_ expression: Any) throws -> ConvertedExpression {
    guard let convertible = expression as? any ConvertibleExpression else { throw unsupported(expression) }
    return try convertible.converted(in: self)
  }
}

/// An expression of a `#Predicate` that can be converted.
protocol ConvertibleExpression {
  func converted(in scope: PredicateScope) throws -> ConvertedExpression
}

/// Returns the error for an expression without an equivalent, named by its kind: `Arithmetic`, `SequenceAllSatisfy`.
func unsupported(_ expression: Any, _ reason: String = "has no equivalent in a store") -> ConditionError {
  let name = String(describing: type(of: expression))
  return ConditionError(.unsupported, "a part of the #Predicate \(reason)", fragment: String(name.prefix { $0 != "<" }))
}

/// The conversion of an expression of a `#Predicate`.
enum ConvertedExpression {
  case condition(Condition)
  /// A condition in an optional chain: nil unless `presence` is true.
  case optionalCondition(Condition, presence: Condition)
  case operand(Operand)
  /// `operand ?? fallback`.
  case coalesced(Operand, fallback: Operand)
  /// A constant collection.
  case list([Operand])
  /// A to-many relationship, with a condition that its elements must meet.
  case filtered(Operand.Collection, variable: String, Condition)
  /// A constant range; nil for no bound.
  case range(lower: Operand?, upper: Operand?, includesUpper: Bool)

  /// Returns the expression as a condition; a Boolean attribute is compared with true.
  func condition(_ expression: Any) throws -> Condition {
    switch self {
    case .condition(let condition): return condition
    case .optionalCondition(let condition, _): return condition
    case .operand(.value(.boolean(let truth))): return .constant(truth)
    case .operand, .coalesced:
      return try comparison(.equal, .operand(.value(.boolean(true))), in: expression)
    case .list, .range, .filtered: throw unsupported(expression, "is not true or false")
    }
  }

  /// Returns the expression as one operand.
  func operand(_ expression: Any) throws -> Operand {
    if case .operand(let operand) = self { return operand }
    throw unsupported(expression, "is not a value")
  }

  /// Returns a comparison of two expressions.
  func comparison(
    _ comparison: Condition.Comparison, _ other: ConvertedExpression, in expression: Any
  ) throws -> Condition {
    switch (self, other) {
    case (.operand(let left), .operand(let right)): return .compare(left, comparison, right, [])
    case (.coalesced(let value, let fallback), _):
      return .or([
        .and([
          .not(.isNull(value)),
          try ConvertedExpression.operand(value).comparison(comparison, other, in: expression),
        ]),
        .and([
          .isNull(value),
          try ConvertedExpression.operand(fallback).comparison(comparison, other, in: expression),
        ]),
      ])
    case (.operand, .coalesced(let value, let fallback)):
      return .or([
        .and([.not(.isNull(value)), try self.comparison(comparison, .operand(value), in: expression)]),
        .and([.isNull(value), try self.comparison(comparison, .operand(fallback), in: expression)]),
      ])
    case (.condition, .operand(.value(let value))), (.optionalCondition, .operand(.value(let value))):
      if let condition = truth(comparison, value) { return condition }
    case (.operand(.value(let value)), .condition), (.operand(.value(let value)), .optionalCondition):
      if let condition = other.truth(comparison, value) { return condition }
    default: break
    }
    throw unsupported(expression, "compares what can't be compared")
  }

  /// Returns the condition of Returns the condition of `condition == true` and the like; nil is neither true nor false.
  private func truth(_ comparison: Condition.Comparison, _ value: Value) -> Condition? {
    let condition: Condition
    let presence: Condition
    switch self {
    case .condition(let only): (condition, presence) = (only, .constant(true))
    case .optionalCondition(let inner, let present): (condition, presence) = (inner, present)
    default: return nil
    }
    let equal: Condition
    switch value {
    case .boolean(true): equal = condition
    case .boolean(false): equal = .and([presence, .not(condition)])
    case .null: equal = .not(presence)
    default: return nil
    }
    switch comparison {
    case .equal: return equal
    case .notEqual: return .not(equal)
    default: return nil
    }
  }
}

extension ConvertedExpression {
  /// A range that a `#Predicate` captured; nil if its bounds have no equivalent.
  init?(_ range: any ConstantRange) {
    let limits = range.limits
    let bounds = (limits.lower.map { Operand(constant: $0) }, limits.upper.map { Operand(constant: $0) })
    if case .some(nil) = bounds.0 { return nil }
    if case .some(nil) = bounds.1 { return nil }
    self = .range(lower: bounds.0 ?? nil, upper: bounds.1 ?? nil, includesUpper: limits.includesUpper)
  }
}
