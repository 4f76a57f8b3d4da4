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
  package init(_ condition: Condition, entity: Entity, related: RelatedObjects) throws(ConditionError) {
    test = try ConditionTest(condition, scope: EntityScope(entity))
    self.related = related
  }

  /// Makes an evaluator for conditions without to-many relationships, which are treated as empty.
  ///
  /// - Parameter related: the row of an object that a to-one relationship leads to, or nil if there is none.
  package init(
    _ condition: Condition, entity: Entity, related: @escaping (ManagedObjectID) throws -> Row?
  ) throws(ConditionError) {
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
