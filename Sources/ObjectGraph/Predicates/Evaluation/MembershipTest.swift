import ObjectModel

/// A test whether an operand is one of several constants, by binary search.
struct MembershipTest: Sendable {
  private let operand: ScalarReader
  /// Sorted.
  private let constants: [ConstantScalar]

  init(
    _ operand: Operand, _ list: [Operand], type: OperandType, _ options: Condition.TextOptions, scope: EntityScope
  ) throws(ConditionError) {
    let transform = ScalarTransform(type, options)
    self.operand = try ScalarReader(operand, transform, scope: scope)
    constants = list.map { ConstantScalar($0, transform) }.sorted { $0.scalar.order($1.scalar) < 0 }
  }

  func isTrue(_ scope: EvaluationScope) throws -> Bool {
    try operand.read(scope) { value in
      if value.isNull { return false }
      var range = constants.indices
      while !range.isEmpty {
        let middle = range.lowerBound + range.count / 2
        let order = value.order(constants[middle].scalar)
        if order == 0 { return true }
        range = order < 0 ? range.lowerBound..<middle : (middle + 1)..<range.upperBound
      }
      return false
    }
  }
}
