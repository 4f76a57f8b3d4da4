import Foundation
import ObjectModel

extension PredicateExpressions.Variable: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    guard let operand = scope.variables[key] else { throw unsupported(self) }
    return .operand(operand)
  }
}

extension PredicateExpressions.Value: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    if let operand = Operand(constant: value) { return .operand(operand) }
    if let range = (value as? any ConstantRange)?.converted { return range }
    if let list = Operand.list(of: value) { return .list(list) }
    throw unsupported(value, "is a value that no attribute has")
  }
}

extension PredicateExpressions.NilLiteral: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression { .operand(.value(.null)) }
}

extension PredicateExpressions.KeyPath: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
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
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression { try scope.convert(inner) }
}

extension PredicateExpressions.OptionalFlatMap: ConvertibleExpression {
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
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
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
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
  func converted(in scope: PredicateScope) throws(ConditionError) -> ConvertedExpression {
    switch try scope.convert(wrapped) {
    case .operand(.value(.integer(let number))) where number != .min: .operand(.value(.integer(-number)))
    case .operand(.value(.double(let number))): .operand(.value(.double(-number)))
    case .operand(.value(.decimal(let number))): .operand(.value(.decimal(-number)))
    case .operand(let operand): .operand(.arithmetic(.value(.integer(0)), .subtract, operand))
    default: throw unsupported(self)
    }
  }
}
