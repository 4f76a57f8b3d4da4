package import ObjectModel

/// Tests rows in memory against a condition, with the same results as a store's SQL.
///
/// Nil equals nil and nothing else; every other comparison with nil is false, and its negation therefore true.
/// Cost: no look-up by name and, but for `[c]`, `[d]`, MATCHES and decimals, no allocation per row.
package struct ConditionEvaluator {
  private let test: ConditionTest
  private let related: (ManagedObjectID) throws -> Row?

  /// - Parameters:
  ///   - condition: a resolved condition.
  ///   - entity: the entity it was resolved for.
  ///   - related: the row of an object that a to-one relationship leads to, or nil if there is none.
  package init(
    _ condition: Condition, entity: Entity, related: @escaping (ManagedObjectID) throws -> Row?
  ) throws(ConditionError) {
    test = try ConditionTest(condition, entity: entity)
    self.related = related
  }

  /// Whether the condition is true of an object with those values.
  ///
  /// - Throws: what following a relationship throws.
  package func matches(id: ManagedObjectID, row: Row) throws -> Bool { try test.isTrue(id, row, related) }
}
