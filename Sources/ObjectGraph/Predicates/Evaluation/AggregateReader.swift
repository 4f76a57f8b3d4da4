/// Computes an aggregate over the elements of a to-many relationship that meet a condition.
struct AggregateReader: Sendable {
  private let aggregation: Operand.Aggregation
  private let collection: CollectionTest
  /// The operand to read of each element; nil to count them.
  private let operand: ScalarReader?
  private let isDecimal: Bool

  init(
    _ aggregation: Operand.Aggregation, _ path: Operand.Collection, _ variable: String, _ condition: Condition,
    scope: EntityScope
  ) throws(ConditionError) {
    self.aggregation = aggregation
    collection = try CollectionTest(path, variable, condition, scope: scope)
    guard let operand = aggregation.operand else {
      (self.operand, isDecimal) = (nil, false)
      return
    }
    let element = scope.binding(variable, to: try scope.destination(of: path))
    self.operand = try ScalarReader(operand, .none, scope: element)
    isDecimal = try element.type(of: operand) == .decimal
  }

  /// Calls the body with the result.
  func read<Result>(
    _ scope: EvaluationScope, _ transform: ScalarTransform, _ body: (Scalar) throws -> Result
  ) throws -> Result {
    switch aggregation {
    case .count:
      var count: Int64 = 0
      try collection.forEach(scope) { _ in count += 1 }
      return try transform.apply(.integer(count), body)
    case .sum: return try transform.apply(computed: try numbers(scope).sum, body)
    case .average: return try transform.apply(computed: try numbers(scope).average, body)
    case .min where isDecimal: return try transform.apply(computed: try numbers(scope).smallestDecimal, body)
    case .max where isDecimal: return try transform.apply(computed: try numbers(scope).largestDecimal, body)
    case .min: return try extreme(scope, transform, { $0 < 0 }, body)
    case .max: return try extreme(scope, transform, { $0 > 0 }, body)
    }
  }

  private func numbers(_ scope: EvaluationScope) throws -> NumberGroup {
    var group = NumberGroup()
    try collection.forEach(scope) { element in if let operand { group.add(try operand.number(element)) } }
    return group
  }

  private func extreme<Result>(
    _ scope: EvaluationScope, _ transform: ScalarTransform, _ isBetter: (Int) -> Bool,
    _ body: (Scalar) throws -> Result
  ) throws -> Result {
    var best: ConstantScalar?
    try collection.forEach(scope) { element in
      try operand?.read(element) { scalar in
        if scalar.isNull { return }
        if let known = best?.scalar, !isBetter(scalar.order(known)) { return }
        best = ConstantScalar(copying: scalar)
      }
    }
    return try withExtendedLifetime(best) { try transform.apply(best?.scalar ?? .null, body) }
  }
}
