import ObjectModel

/// A to-many relationship of an object in a condition, with the test of its elements.
struct CollectionTest: Sendable {
  private let origin: Int?
  private let toOne: [Int]
  private let property: Property
  private let test: ConditionTest

  init(
    _ collection: Operand.Collection, _ variable: String, _ condition: Condition, scope: EntityScope
  ) throws(ConditionError) {
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
