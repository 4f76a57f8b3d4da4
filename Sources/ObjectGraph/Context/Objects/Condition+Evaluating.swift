import ObjectModel

extension Condition {
  /// Returns true if an object meets the condition as it is now in its context, with all unsaved changes.
  ///
  /// It may ask for transient attributes too. For many objects use `filtered(by:)` of a sequence. To be called on the
  /// executor of the object's context. Cost: reads the values of faults that it has to follow.
  /// - Throws: ``ConditionError`` if the condition does not fit the object's entity, ``StoreError`` if a value can't be
  ///   read.
  public func evaluate(with object: ManagedObject) throws -> Bool {
    try LiveEvaluator(self, entity: object.entity).matches(object)
  }
}

extension Sequence where Element: ManagedObject {
  /// The objects of which a condition is true, as they are now in their context, with all unsaved changes.
  ///
  /// - Throws: ``ConditionError`` if the condition does not fit an object's entity, ``StoreError`` if a value can't be
  ///   read.
  public func filtered(by condition: Condition) throws -> [Element] {
    var evaluators: [Int: LiveEvaluator] = [:]
    return try filter { object in
      let entity = object.entity
      let evaluator = try evaluators[entity.index] ?? LiveEvaluator(condition, entity: entity)
      evaluators[entity.index] = evaluator
      return try evaluator.matches(object)
    }
  }
}

/// Tests objects of an entity as they are in memory.
private struct LiveEvaluator {
  private let test: ConditionTest

  init(_ condition: Condition, entity: Entity) throws {
    let scope = EntityScope(entity, includesTransient: true)
    test = try ConditionTest(try condition.resolved(for: entity, includesTransient: true), scope: scope)
  }

  func matches(_ object: ManagedObject) throws -> Bool {
    let registry = object.registry
    _ = try registry?.realize(object)
    let related = RelatedObjects(
      row: { try registry?.visibleRow(for: $0) },
      destinations: { id, property in
        guard let registry else { return [] }
        return try registry.object(with: id).destinations(property.slot).compactMap { destination in
          _ = try registry.realize(destination)
          return destination.isDeleted ? nil : (destination.objectID, destination.row)
        }
      })
    return try test.isTrue(EvaluationScope(id: object.objectID, row: object.row, related: related))
  }
}
