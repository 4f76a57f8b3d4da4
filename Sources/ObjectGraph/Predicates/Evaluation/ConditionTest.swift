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

  init(_ condition: Condition, entity: Entity) throws(ConditionError) {
    switch condition {
    case .constant(let truth): self = .constant(truth)
    case .compare(let left, let comparison, let right, let options):
      let type = try entity.comparedType(left, right)
      self = .comparison(try ComparisonTest(left, comparison, right, type: type, options, entity: entity))
    case .between:
      self = try Self(condition.resolved(for: entity), entity: entity)
    case .isIn(let operand, let list, let options):
      let type = try entity.comparedType(operand, nil)
      self = .membership(try MembershipTest(operand, list, type: type, options, entity: entity))
    case .isNull(let operand): self = .isNull(try ScalarReader(operand, .none, entity: entity))
    case .not(let inner): self = .not(try Self(inner, entity: entity))
    case .and(let parts): self = .all(try Self.tests(parts, entity))
    case .or(let parts): self = .any(try Self.tests(parts, entity))
    }
  }

  private static func tests(_ conditions: [Condition], _ entity: Entity) throws(ConditionError) -> [ConditionTest] {
    var tests: [ConditionTest] = []
    tests.reserveCapacity(conditions.count)
    for condition in conditions { tests.append(try Self(condition, entity: entity)) }
    return tests
  }

  func isTrue(_ id: ManagedObjectID, _ row: Row, _ related: (ManagedObjectID) throws -> Row?) throws -> Bool {
    switch self {
    case .constant(let truth): return truth
    case .comparison(let test): return try test.isTrue(id, row, related)
    case .membership(let test): return try test.isTrue(id, row, related)
    case .isNull(let reader): return try reader.read(id, row, related) { $0.isNull }
    case .not(let inner): return try !inner.isTrue(id, row, related)
    case .all(let tests):
      for test in tests where try !test.isTrue(id, row, related) { return false }
      return true
    case .any(let tests):
      for test in tests where try test.isTrue(id, row, related) { return true }
      return false
    }
  }
}
