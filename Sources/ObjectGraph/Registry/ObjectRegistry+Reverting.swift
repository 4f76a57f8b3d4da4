import ObjectModel

extension ObjectRegistry {
  /// Drops all changes, also those that children saved here: objects get their committed values back, inserted ones leave.
  func rollback() {
    checkExecutor()
    let changed = held
    let conflicting = conflicting
    pending.removeAll()
    forgetChanges()
    relationshipGeneration += 1
    for object in changed {
      object.state.subtract([.updated, .deleted, .touched, .held])
      if object.isInserted { orphan(object) } else { revert(object, conflicting[object.objectID]) }
    }
    undoManager?.removeAllActions()
    for object in changed where object.registry === self && !object.isFault { awake(object, from: .rollback) }
    assertInvariants()
  }

  /// Makes an object a fault again, or puts its changes on top of newer values; does nothing to a new object.
  func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
    checkExecutor()
    if object.isInserted { return }
    conflictChecks[object.objectID] = nil
    conflicting[object.objectID] = nil
    // What was changed by this event must not be published against the old values.
    publishChanges()
    if object.hasChanges && mergeChanges {
      try rebase(object)
    } else {
      if object.hasChanges {
        pending.remove(object.objectID)
        pending.removeLinks(of: object.objectID)
        relationshipGeneration += 1
      }
      letGo(of: [object])
      revert(object)
      turnIntoFault(object)
    }
    object.toMany = nil
    assertInvariants()
  }

  /// Puts an object's changes on top of the values that the next level has now.
  private func rebase(_ object: ManagedObject) throws {
    guard let base = object.base, let fresh = try row(for: object.objectID) else { return }
    let changed = object.row
    pending.remove(object.objectID)
    object.published = nil
    object.base = fresh
    object.row = fresh.applying(changesFrom: base, to: changed, layout: layout(of: object))
    awake(object, from: .refresh)
    touch(object)
  }

  /// Gives an object its committed values back, or those that a merge found stored.
  private func revert(_ object: ManagedObject, _ stored: Row? = nil) {
    if let row = stored ?? object.base { object.row = row }
    object.base = nil
    object.published = nil
    object.toMany = nil
    if object.state.contains(.inaccessible) {
      object.state.remove(.inaccessible)
      object.state.insert(.fault)
      object.hasRow = false
    }
  }
}
