package import ObjectModel

/// Tests rows in memory against a condition, with the same results as a store's SQL.
///
/// Nil equals nil and nothing else; every other comparison with nil is false, and its negation therefore true.
/// Cost: no look-up by name and, but for `[c]`, `[d]`, MATCHES and decimals, no allocation per row.
package struct ConditionEvaluator {
  private let test: ConditionTest
  private let related: RelatedObjects

  /// - Parameters:
  ///   - condition: a resolved condition.
  ///   - entity: the entity it was resolved for.
  ///   - related: a reader of the objects that relationships lead to.
  package init(_ condition: Condition, entity: Entity, related: RelatedObjects) throws {
    test = try ConditionTest(condition, scope: EntityScope(entity))
    self.related = related
  }

  /// Makes an evaluator for conditions without to-many relationships, which are treated as empty.
  ///
  /// - Parameter related: the row of an object that a to-one relationship leads to, or nil if there is none.
  package init(
    _ condition: Condition, entity: Entity, related: @escaping (ManagedObjectID) throws -> Row?
  ) throws {
    try self.init(
      condition, entity: entity, related: RelatedObjects(row: related, destinations: { _, _ in [] }))
  }

  /// Returns true if an object with that row meets the condition.
  ///
  /// - Throws: errors of following a relationship.
  package func matches(id: ManagedObjectID, row: Row) throws -> Bool {
    try test.isTrue(EvaluationScope(id: id, row: row, related: related))
  }
}

/// A reader of related objects for evaluation in memory.
package struct RelatedObjects {
  package typealias Object = (id: ManagedObjectID, row: Row)

  package let row: (ManagedObjectID) throws -> Row?
  package let destinations: (ManagedObjectID, Property) throws -> [Object]

  /// - Parameters:
  ///   - row: the row of an object that a to-one relationship leads to, or nil if there is none.
  ///   - destinations: the objects that an object's to-many relationship leads to.
  package init(
    row: @escaping (ManagedObjectID) throws -> Row?,
    destinations: @escaping (ManagedObjectID, Property) throws -> [Object]
  ) {
    self.row = row
    self.destinations = destinations
  }

  /// Returns a reader that throws at the next traversal of a to-many relationship once the task is cancelled.
  package func stoppingWhenCancelled(_ isCancellable: Bool) -> RelatedObjects {
    if !isCancellable { return self }
    return RelatedObjects(row: row) { [destinations] in
      try Task.checkCancellation()
      return try destinations($0, $1)
    }
  }
}

/// The objects that a condition is evaluated on: the one under test, and the elements of subqueries.
package struct EvaluationScope {
  package let id: ManagedObjectID
  package let row: Row
  /// Outermost first.
  private(set) var elements: [RelatedObjects.Object] = []
  let related: RelatedObjects

  package init(id: ManagedObjectID, row: Row, related: RelatedObjects) {
    self.id = id
    self.row = row
    self.related = related
  }

  /// Returns the object under test, or the element of the subquery with that index.
  @inline(__always)
  func object(_ origin: Int?) -> RelatedObjects.Object {
    if let origin { elements[origin] } else { (id, row) }
  }

  func adding(_ element: RelatedObjects.Object) -> EvaluationScope {
    var scope = self
    scope.elements.append(element)
    return scope
  }
}

/// A condition with slots in place of names.
package indirect enum ConditionTest: Sendable {
  case constant(Bool)
  case comparison(ComparisonTest)
  case membership(MembershipTest)
  case isNull(ScalarReader)
  case not(ConditionTest)
  case all([ConditionTest])
  case any([ConditionTest])
  case exists(CollectionTest)

  /// - Parameter scope: the scope that the condition was resolved in.
  package init(_ condition: Condition, scope: EntityScope) throws {
    switch condition {
    case .constant(let truth): self = .constant(truth)
    case .compare(let left, let comparison, let right, let options):
      let type = try scope.comparedType(left, right)
      self = .comparison(try ComparisonTest(left, comparison, to: right, type: type, options: options, scope: scope))
    case .between(let operand, let lower, let upper):
      self = .all([
        try Self(.compare(operand, .greaterOrEqual, lower, []), scope: scope),
        try Self(.compare(operand, .lessOrEqual, upper, []), scope: scope),
      ])
    case .quantified:
      throw ConditionError(.unsupported, "the condition is not resolved", fragment: "\(condition)")
    case .exists(let collection, let variable, let inner):
      self = .exists(try CollectionTest(collection, variable: variable, condition: inner, scope: scope))
    case .isIn(let operand, let list, let options):
      let type = try scope.comparedType(operand, nil)
      self = .membership(try MembershipTest(operand, list, type: type, options: options, scope: scope))
    case .isNull(let operand): self = .isNull(try ScalarReader(operand, .none, scope: scope))
    case .not(let inner): self = .not(try Self(inner, scope: scope))
    case .and(let parts): self = .all(try Self.tests(parts, scope))
    case .or(let parts): self = .any(try Self.tests(parts, scope))
    }
  }

  private static func tests(_ conditions: [Condition], _ scope: EntityScope) throws -> [ConditionTest] {
    var tests: [ConditionTest] = []
    tests.reserveCapacity(conditions.count)
    for condition in conditions { tests.append(try Self(condition, scope: scope)) }
    return tests
  }

  /// True if the objects of the scope meet the condition.
  package func isTrue(_ scope: EvaluationScope) throws -> Bool {
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

/// A comparison of two operands, prepared for testing objects.
package struct ComparisonTest: Sendable {
  private let left: ScalarReader
  private let right: ScalarReader
  private let comparison: Condition.Comparison
  private let pattern: WholeTextPattern?

  /// - Parameter type: the type of the left operand; decimal if the right one is.
  init(
    _ left: Operand, _ comparison: Condition.Comparison, to right: Operand, type: OperandType,
    options: Condition.TextOptions, scope: EntityScope
  ) throws {
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
      try right.read(scope) { right in left.meets(comparison, right, pattern: pattern) }
    }
  }
}

/// A test whether an operand is one of several constants, by binary search.
package struct MembershipTest: Sendable {
  private let operand: ScalarReader
  /// Sorted.
  private let constants: [ConstantScalar]

  init(
    _ operand: Operand, _ list: [Operand], type: OperandType, options: Condition.TextOptions, scope: EntityScope
  ) throws {
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

/// A to-many relationship of an object in a condition, with the test of its elements.
package struct CollectionTest: Sendable {
  private let origin: Int?
  private let toOne: [Int]
  private let property: Property
  private let test: ConditionTest

  init(
    _ collection: Operand.Collection, variable: String, condition: Condition, scope: EntityScope
  ) throws {
    let path = try scope.path(of: collection)
    origin = collection.variable.flatMap(scope.index)
    toOne = path.toOne.map(\.slot)
    property = path.toMany
    test = try ConditionTest(condition, scope: scope.binding(variable, to: try scope.destination(of: collection)))
  }

  /// True if an element meets the condition.
  func exists(_ scope: EvaluationScope) throws -> Bool {
    for element in try elements(scope) where try test.isTrue(scope.adding(element)) { return true }
    return false
  }

  /// Calls the body with each element that meets the condition, as the innermost of the scope.
  func forEach(_ scope: EvaluationScope, _ body: (EvaluationScope) throws -> Void) throws {
    for element in try elements(scope) {
      let inner = scope.adding(element)
      if try test.isTrue(inner) { try body(inner) }
    }
  }

  private func elements(_ scope: EvaluationScope) throws -> [RelatedObjects.Object] {
    var (owner, row) = scope.object(origin)
    for slot in toOne {
      guard let next = row.referenceIfPresent(slot), let destination = try scope.related.row(next) else { return [] }
      (owner, row) = (next, destination)
    }
    return try scope.related.destinations(owner, property)
  }
}
