import ObjectModel

/// A condition with slots in place of names.
indirect enum ConditionTest: Sendable {
  case constant(Bool)
  case comparison(ComparisonTest)
  case membership(MembershipTest)
  case isNull(ScalarReader)
  case not(ConditionTest)
  case all([ConditionTest])
  case any([ConditionTest])
  case exists(CollectionTest)

  init(_ condition: Condition, scope: EntityScope) throws(ConditionError) {
    switch condition {
    case .constant(let truth): self = .constant(truth)
    case .compare(let left, let comparison, let right, let options):
      let type = try scope.comparedType(left, right)
      self = .comparison(try ComparisonTest(left, comparison, right, type: type, options, scope: scope))
    case .between(let operand, let lower, let upper):
      self = .all([
        try Self(.compare(operand, .greaterOrEqual, lower, []), scope: scope),
        try Self(.compare(operand, .lessOrEqual, upper, []), scope: scope),
      ])
    case .quantified:
      throw ConditionError(.unsupported, "the condition is not resolved", fragment: "\(condition)")
    case .exists(let collection, let variable, let inner):
      self = .exists(try CollectionTest(collection, variable, inner, scope: scope))
    case .isIn(let operand, let list, let options):
      let type = try scope.comparedType(operand, nil)
      self = .membership(try MembershipTest(operand, list, type: type, options, scope: scope))
    case .isNull(let operand): self = .isNull(try ScalarReader(operand, .none, scope: scope))
    case .not(let inner): self = .not(try Self(inner, scope: scope))
    case .and(let parts): self = .all(try Self.tests(parts, scope))
    case .or(let parts): self = .any(try Self.tests(parts, scope))
    }
  }

  private static func tests(_ conditions: [Condition], _ scope: EntityScope) throws(ConditionError) -> [ConditionTest] {
    var tests: [ConditionTest] = []
    tests.reserveCapacity(conditions.count)
    for condition in conditions { tests.append(try Self(condition, scope: scope)) }
    return tests
  }

  func isTrue(_ scope: EvaluationScope) throws -> Bool {
    switch self {
    case .constant(let truth): return truth
    case .comparison(let test): return try test.isTrue(scope)
    case .membership(let test): return try test.isTrue(scope)
    case .isNull(let reader): return try reader.read(scope) { $0.isNull }
    case .exists(let test): return try test.exists(scope)
    case .not(let inner): return try !inner.isTrue(scope)
    case .all(let tests):
      for test in tests where try !test.isTrue(scope) { return false }
      return true
    case .any(let tests):
      for test in tests where try test.isTrue(scope) { return true }
      return false
    }
  }
}
