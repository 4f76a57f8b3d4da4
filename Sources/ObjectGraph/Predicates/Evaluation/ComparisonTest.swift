import ObjectModel

/// A comparison of two operands, prepared for testing objects.
struct ComparisonTest: Sendable {
  private let left: ScalarReader
  private let right: ScalarReader
  private let comparison: Condition.Comparison
  private let pattern: WholeTextPattern?

  /// - Parameter type: the type of the left operand; decimal if the right one is.
  init(
    _ left: Operand, _ comparison: Condition.Comparison, _ right: Operand, type: OperandType,
    _ options: Condition.TextOptions, scope: EntityScope
  ) throws(ConditionError) {
    let transform = ScalarTransform(type, options)
    // A regular expression handles its options itself.
    let isPattern = comparison == .matches
    self.left = try ScalarReader(left, isPattern ? .none : transform, scope: scope)
    self.right = try ScalarReader(right, isPattern ? .none : transform, scope: scope)
    self.comparison = comparison
    if isPattern, case .value(.string(let text)) = right {
      pattern = WholeTextPattern.cached(text, options)
    } else {
      pattern = nil
    }
  }

  func isTrue(_ scope: EvaluationScope) throws -> Bool {
    try left.read(scope) { left in
      try right.read(scope) { right in isTrue(left, right) }
    }
  }

  /// The result if both operands are constants.
  var isTrueOfConstants: Bool {
    guard let left = left.constant, let right = right.constant else { return false }
    return withExtendedLifetime((left, right)) { isTrue(left.scalar, right.scalar) }
  }

  private func isTrue(_ left: Scalar, _ right: Scalar) -> Bool {
    switch comparison {
    case .equal: return left.order(right) == 0
    case .notEqual: return left.order(right) != 0
    default: break
    }
    if left.isNull || right.isNull { return false }
    switch comparison {
    case .less: return left.order(right) < 0
    case .lessOrEqual: return left.order(right) <= 0
    case .greater: return left.order(right) > 0
    case .greaterOrEqual: return left.order(right) >= 0
    default: break
    }
    guard case .bytes(let text) = left, case .bytes(let part) = right else { return false }
    return switch comparison {
    case .beginsWith: TextSearch.hasPrefix(text, part)
    case .endsWith: TextSearch.hasSuffix(text, part)
    case .contains: TextSearch.contains(text, part)
    case .like: TextSearch.isLike(text, part)
    default: pattern?.matches(text) ?? false
    }
  }
}
