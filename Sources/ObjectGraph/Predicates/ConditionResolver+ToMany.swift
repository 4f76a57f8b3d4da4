import ObjectModel

extension ConditionResolver {
  /// The condition of a subquery, in which the variable stands for an element of the collection.
  func resolve(
    _ condition: Condition, of collection: Operand.Collection, _ variable: String, depth: Int
  ) throws(ConditionError) -> Condition {
    let element = try scope.destination(of: collection)
    return try ConditionResolver(scope: scope.binding(variable, to: element)).resolve(condition, depth: depth + 1)
  }

  /// ANY becomes a subquery, ALL is none that does not, NONE is not any.
  func resolve(
    _ quantifier: Condition.Quantifier, _ comparison: Condition, depth: Int
  ) throws(ConditionError) -> Condition {
    switch quantifier {
    case .any: return try any(comparison, isNegated: false, depth: depth)
    case .none: return .not(try any(comparison, isNegated: false, depth: depth))
    case .all: return .not(try any(comparison, isNegated: true, depth: depth))
    }
  }

  private func any(
    _ comparison: Condition, isNegated: Bool, depth: Int, isInside: Bool = false
  ) throws(ConditionError) -> Condition {
    guard let left = comparison.leftOperand else {
      throw ConditionError(
        .unsupported, "ANY, ALL and NONE take a comparison of a path through a to-many relationship",
        fragment: "\(comparison)")
    }
    let (start, names) = left.path ?? (nil, [])
    guard let end = try scope.endOfToMany(names, from: start) else {
      // Behind the last to-many relationship of the path.
      if isInside { return try resolve(isNegated ? .not(comparison) : comparison, depth: depth) }
      throw ConditionError(
        .typeMismatch, "ANY, ALL and NONE need a path through a to-many relationship", fragment: "\(left)")
    }
    let collection = Operand.Collection(Array(names[...end]), from: start)
    let variable = "_\(scope.variableCount)"
    let element = Operand(path: Array(names[(end + 1)...]), from: variable)
    let inner = ConditionResolver(scope: scope.binding(variable, to: try scope.destination(of: collection)))
    return .exists(
      collection, variable: variable,
      try inner.any(comparison.replacingLeft(element), isNegated: isNegated, depth: depth + 1, isInside: true))
  }

  /// The operand with the conditions of its subqueries, and the names that no property has, resolved.
  func resolve(_ operand: Operand) throws(ConditionError) -> Operand {
    switch operand {
    case .value, .object, .evaluatedObject, .variable: return operand
    case .keyPath(let names): return scope.meaning(of: names, from: nil) ?? operand
    case .variablePath(let variable, let names): return scope.meaning(of: names, from: variable) ?? operand
    case .arithmetic(let left, let arithmetic, let right):
      return scope.fitting(try resolve(left), arithmetic, try resolve(right))
    case .function(let function, let inner): return .function(function, try resolve(inner))
    case .aggregate(let aggregation, let collection, let variable, let condition):
      let element = ConditionResolver(scope: scope.binding(variable, to: try scope.destination(of: collection)))
      return .aggregate(
        try aggregation.mapping { operand throws(ConditionError) in try element.resolve(operand) }, collection,
        variable: variable, try resolve(condition, of: collection, variable, depth: 1))
    case .entityName(let object): return .entityName(try resolve(object))
    }
  }
}

extension Condition {
  /// The left side of a comparison; nil for other conditions.
  fileprivate var leftOperand: Operand? {
    switch self {
    case .compare(let left, _, _, _), .between(let left, _, _), .isIn(let left, _, _), .isNull(let left): left
    default: nil
    }
  }

  fileprivate func replacingLeft(_ operand: Operand) -> Condition {
    switch self {
    case .compare(_, let comparison, let right, let options): .compare(operand, comparison, right, options)
    case .between(_, let lower, let upper): .between(operand, lower: lower, upper: upper)
    case .isIn(_, let list, let options): .isIn(operand, list, options)
    case .isNull: .isNull(operand)
    default: self
    }
  }
}
