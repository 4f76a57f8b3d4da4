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
      revertOrders(of: object)
      changedToMany[object.objectID] = nil
      turnIntoFault(object)
    }
    object.toMany = nil
    assertInvariants()
  }

  /// Gives an object's destinations, which keep their places in its ordered relationships, those that they had.
  private func revertOrders(of object: ManagedObject) {
    var reverted: [ManagedObject] = []
    for property in object.entity.properties where property.isOrdered && property.joinTable == nil {
      guard let inverse = property.inverse, let order = inverse.orderProperty, let entity = property.destination else {
        continue
      }
      for destination in held where destination.entity.isKind(of: entity) && !destination.isDeleted {
        guard let base = destination.base, base.referenceIfPresent(inverse.slot) == object.objectID,
          destination.row.referenceIfPresent(inverse.slot) == object.objectID,
          !destination.row.hasSameValue(as: base, order.slot, order.storage)
        else { continue }
        destination.willChange(order.slot)
        destination.row.copyValue(of: base, order.slot, order.storage)
        reverted.append(destination)
      }
    }
    if reverted.isEmpty { return }
    relationshipGeneration += 1
    publishChanges()
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

  /// Gives an unchanged object that has transient values beside the defaults newer ones of the others; returns false if it
  /// must be a fault.
  private func refreshKeepingTransients(_ object: ManagedObject) throws -> Bool {
    if !hasTransientValues(object) { return false }
    guard let fresh = try row(for: object.objectID) else { return false }
    object.row = withTransients(of: object.row, fresh)
    return true
  }

  /// Whether an object shows values that no store could give it again.
  func hasTransientValues(_ object: ManagedObject) -> Bool {
    if object.isFault { return false }
    let (defaults, storage) = (coordinator.defaults[object.entity.index], layout(of: object).storage)
    return coordinator.transientSlots[object.entity.index].contains {
      !object.row.hasSameValue(as: defaults, $0, storage[$0])
    }
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
