import ObjectModel

extension PersistentStoreCoordinator {
  /// Keeps rows out of the row cache that nobody is expected to read again, such as those of finished work.
  ///
  ///     try coordinator.excludeFromRowCache(Condition(format: "finishedAt != nil"), ofEntity: "Job")
  ///
  /// Without it, a save keeps the rows that it has updated for the next fault, in whatever state they are, and what is
  /// over pushes out what is not. Rows are tested when they are read or saved, by their own attributes; a relationship
  /// counts as nil. One that was kept leaves when it is saved with values that meet the condition. Objects are not
  /// concerned: a fault of such a row reads it from the store.
  ///
  /// - Parameters:
  ///   - condition: which rows to leave out; one for each entity, the last one counts.
  ///   - name: the entity, whose subentities are meant too.
  /// - Throws: ``ConditionError`` if the model has no such entity, or the condition names what that does not have.
  public func excludeFromRowCache(_ condition: Condition, ofEntity name: String) throws(ConditionError) {
    guard let entity = model.entitiesByName[name] else {
      throw ConditionError(.unknownEntity, "the model has no entity \"\(name)\"")
    }
    let resolved = try condition.resolved(for: entity)
    try exclude(resolved, entity)
  }
}
