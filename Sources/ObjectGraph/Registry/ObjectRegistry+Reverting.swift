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
    } else if mergeChanges, try refreshKeepingTransients(object) {
      awake(object, from: .refresh)
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
    let newBase = withTransients(of: base, fresh)
    pending.remove(object.objectID)
    object.published = nil
    object.base = newBase
    object.row = newBase.applying(changesFrom: base, to: changed, layout: layout(of: object))
    awake(object, from: .refresh)
    touch(object)
  }

  /// Gives an unchanged object that has transient values newer ones of the others; returns false if it must be a fault.
  private func refreshKeepingTransients(_ object: ManagedObject) throws -> Bool {
    let slots = coordinator.transientSlots[object.entity.index]
    if object.isFault || slots.allSatisfy(object.row.isNull) { return false }
    guard let fresh = try row(for: object.objectID) else { return false }
    object.row = withTransients(of: object.row, fresh)
    return true
  }

  /// Newer values of an object, with the transient ones that it had: no store has those.
  func withTransients(of former: Row, _ fresh: Row) -> Row {
    guard former.entityIndex == fresh.entityIndex else { return fresh }
    let slots = coordinator.transientSlots[Int(fresh.entityIndex)].filter { fresh.isNull($0) && !former.isNull($0) }
    if slots.isEmpty { return fresh }
    let layout = coordinator.layouts[Int(fresh.entityIndex)]
    var row = fresh
    for slot in slots { row.copyValue(of: former, slot, layout.storage[slot]) }
    row.stamp(version: fresh.version)
    return row
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
