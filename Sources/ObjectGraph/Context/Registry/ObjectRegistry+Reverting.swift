import ObjectModel

extension ObjectRegistry {
  /// Drops all changes, also those that children saved here: objects revert to committed values, inserted ones leave.
  ///
  /// - Parameter adoptions: does nothing and returns false unless children have saved just so often; nil for any number.
  @discardableResult func rollback(ifAdopted adoptions: Int? = nil) -> Bool {
    checkExecutor()
    let changed = changedObjects
    let conflicting = conflicts.storedRows
    if !pending.removeAll(ifAdopted: adoptions) { return false }
    forgetChanges()
    relationships.invalidateCaches()
    for object in changed {
      object.state.subtract([.updated, .deleted, .touched, .held])
      switch conflicting[object.objectID] {
      case _ where object.isInserted, .some(nil): orphan(object)
      case let stored: revert(object, stored ?? nil)
      }
    }
    undo.manager?.removeAllActions()
    for object in changed where object.registry === self && !object.isFault { awake(object, from: .rollback) }
    assertInvariants()
    return true
  }

  /// Makes an object a fault again, or puts its changes on top of newer values; does nothing to a new object.
  func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
    checkExecutor()
    if object.isInserted { return }
    conflicts.remove(object.objectID)
    // This event's changes must not be published against the old values.
    publishChanges()
    if object.hasChanges && mergeChanges {
      try rebase(object)
      clearGoneReferences()
    } else if mergeChanges, try refreshKeepingTransients(object) {
      awake(object, from: .refresh)
    } else {
      // Looked up before anything is dropped, so that a failure changes nothing.
      let partners = try object.hasChanges && !object.isFault ? changedPartners(of: object) : []
      if object.hasChanges {
        pending.remove(object.objectID)
        pending.removeLinks(of: object.objectID)
        relationships.invalidateCaches()
      }
      letGo(of: [object])
      revert(object)
      revertOrders(of: object)
      relationships.forgetSlots(of: object.objectID)
      turnIntoFault(object)
      revert(partners, of: object)
    }
    object.toMany = nil
    assertInvariants()
  }

  /// The other end of a one-to-one relationship, before and after a refresh that drops changes.
  private struct Partners {
    let property: Property
    let inverse: Property
    let dropped: ManagedObjectID?
    let stored: ManagedObjectID?
  }

  /// Returns the one-to-one relationships of an object that changes have made differ from the next level.
  private func changedPartners(of object: ManagedObject) throws -> [Partners] {
    let properties = object.entity.properties.filter { $0.storage == .reference && $0.inverse?.storage == .reference }
    if properties.isEmpty { return [] }
    let stored = try row(for: object.objectID)
    return properties.compactMap { property in
      guard let inverse = property.inverse else { return nil }
      // The delete has cleared it at the other end.
      let mine = object.isDeleted ? nil : object.row.referenceIfPresent(property.slot)
      let theirs = stored?.referenceIfPresent(property.slot)
      return mine == theirs ? nil : Partners(property: property, inverse: inverse, dropped: mine, stored: theirs)
    }
  }

  /// Restores the other ends of one-to-one relationships as the next level has them.
  private func revert(_ partners: [Partners], of object: ManagedObject) {
    if partners.isEmpty { return }
    for partners in partners {
      let slot = partners.inverse.slot
      if let id = partners.dropped, id != object.objectID { clear(slot, of: self.object(with: id), leadingTo: object) }
      guard let id = partners.stored, id != object.objectID else { continue }
      let former = self.object(with: id)
      if former.isDeleted || former.readable.referenceIfPresent(slot) == object.objectID { continue }
      relate(former, slot, to: object, by: partners.property.slot)
    }
    // An undo can't reverse it, as it can't reverse the refresh itself.
    undo.withoutRecording { publishChanges() }
  }

  /// Restores the former places of an object's destinations in its ordered relationships.
  private func revertOrders(of object: ManagedObject) {
    var reverted: [ManagedObject] = []
    for property in object.entity.properties where property.isOrdered && property.joinTable == nil {
      guard let inverse = property.inverse, let order = inverse.orderProperty, let entity = property.destination else {
        continue
      }
      for destination in changedObjects where destination.entity.isKind(of: entity) && !destination.isDeleted {
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
    relationships.invalidateCaches()
    publishChanges()
  }

  /// Reapplies an object's changes on top of the next level's current values.
  private func rebase(_ object: ManagedObject) throws {
    guard let base = changeBase(of: object), let fresh = try row(for: object.objectID) else { return }
    let newBase = withTransients(of: base, fresh)
    if pending.isRelinked(object.objectID) {
      (object.row, object.base, object.published) = (newBase, newBase, newBase)
      return awake(object, from: .refresh)
    }
    object.row = object.row.rebased(from: base, onto: newBase, layout: layout(of: object))
    object.base = newBase
    // Published here, since an undo can't reverse it.
    object.published = object.isDeleted ? nil : object.row
    let kind: RowChange.Kind = object.isDeleted ? .delete : .update
    pending.replace(RowChange(kind, object.objectID, row: object.published, base: newBase))
    awake(object, from: .refresh)
  }

  /// Rereads an unchanged object that has transient values and keeps those; returns false if it must become a fault.
  private func refreshKeepingTransients(_ object: ManagedObject) throws -> Bool {
    if !hasTransientValues(object) { return false }
    guard let fresh = try row(for: object.objectID) else { return false }
    object.row = withTransients(of: object.row, fresh)
    return true
  }

  /// True if an object has transient values other than the defaults, which no store could return.
  func hasTransientValues(_ object: ManagedObject) -> Bool {
    if object.isFault { return false }
    let (defaults, storage) = (coordinator.defaults[object.entity.index], layout(of: object).storage)
    return coordinator.transientSlots[object.entity.index].contains {
      !object.row.hasSameValue(as: defaults, $0, storage[$0])
    }
  }

  /// Returns the fresh row with the former row's transient values, which no store has.
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

  /// Restores an object's committed values, or those that a merge found stored.
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
