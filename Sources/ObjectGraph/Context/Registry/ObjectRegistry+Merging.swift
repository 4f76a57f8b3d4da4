import ObjectModel

extension ObjectRegistry {
  /// Updates the objects to another context's save.
  ///
  /// - Parameters:
  ///   - isStored: true if the save went to the store; what went to a parent may have been dropped there since.
  ///   - isObserved: true if observers may look at the inserted objects.
  /// - Returns: the inserted objects, as faults that have their rows; hold them while observers look.
  func merge(_ sets: [ChangeSet], isStored: Bool, isObserved: Bool) -> [ManagedObject] {
    checkExecutor()
    relationships.invalidateCaches()
    var inserted: [ManagedObject] = []
    var stale: [ManagedObject] = []
    for set in sets {
      forEachRegistered(set) { object, change in
        if !merge(change, into: object, isStored: isStored) { stale.append(object) }
      }
      for id in set.relinked { if let object = registeredObject(for: id) { mergeRelinked(object) } }
      guard isObserved || retainsObjects else { continue }
      for change in set.changes where change.kind == .insert {
        guard let row = freshRow(change) else { continue }
        inserted.append(object(with: change.id, fetched: row))
      }
    }
    read(stale)
    clearGoneReferences()
    assertInvariants()
    return inserted
  }

  /// Registers objects of a set that children have changed here and that are not in memory, so that a merge finds them.
  private func registerChanged(in set: ChangeSet) {
    let relinked = Set(set.relinked)
    for pendingSet in pending.currentSets() {
      for id in pendingSet.relinked where set.change(of: id) != nil { _ = object(with: id) }
      if pendingSet.isAllInserts { continue }
      for change in pendingSet.changes where change.kind != .insert && registeredObject(for: change.id) == nil {
        if relinked.contains(change.id) || set.change(of: change.id) != nil { _ = object(with: change.id) }
      }
    }
  }

  /// Calls the body with each registered object of a set, iterating over the smaller of both.
  private func forEachRegistered(_ set: ChangeSet, _ body: (ManagedObject, RowChange) -> Void) {
    registerChanged(in: set)
    if !hasRegisteredObjects { return }
    if set.objectCount > registeredCount {
      for object in allObjects {
        if let change = set.change(of: object.objectID) { body(object, change) }
      }
      return
    }
    for change in set.changes {
      if let object = registeredObject(for: change.id) { body(object, change) }
    }
    for batch in set.batches {
      for index in 0..<batch.count {
        if let object = registeredObject(for: batch.id(at: index)) {
          body(object, RowChange(.insert, object.objectID, row: batch.row(at: index), base: nil))
        }
      }
    }
  }

  /// - Returns: false if the object has changes, and what they are to be put on is only in the store.
  private func merge(_ change: RowChange, into object: ManagedObject, isStored: Bool) -> Bool {
    if let fresh = freshRow(change) {
      update(object, to: fresh)
    } else if !isHandedOn(change), !isStoredAgain(change), isStored || isKnownDelete(change) {
      mergeDelete(of: object)
    } else if !object.hasChanges {
      forgetRow(of: object)
    } else {
      return !isHandedOn(change)
    }
    return true
  }

  /// True if what a child saved does not wait above any more, and was not stored as it was: it was changed since, or
  /// dropped.
  private func isHandedOn(_ change: RowChange) -> Bool {
    guard let row = change.row else { return false }
    return row.version == 0 && !coordinator.keys.isTemporary(change.id) && ancestorsChange(of: change.id) == nil
  }

  /// Updates an object that another context has relinked to the newest values in memory; what it knew is not told.
  private func mergeRelinked(_ object: ManagedObject) {
    let id = object.objectID
    object.toMany = nil
    if let change = ancestorsChange(of: id) {
      if let fresh = change.row { update(object, to: fresh) } else { mergeDelete(of: object) }
    } else if coordinator.keys.isTemporary(id) {
      // It was dropped before it was stored.
      mergeDelete(of: object)
    } else if let cached = coordinator.sharedRows.row(for: id) {
      update(object, to: cached.row)
    } else if !object.hasChanges, !coordinator.sharedRows.hasDeparted(id) {
      forgetRow(of: object)
    }
  }

  /// True if a delete is out of date because the object has been stored again since.
  private func isStoredAgain(_ change: RowChange) -> Bool {
    change.kind == .delete && ancestorsChange(of: change.id) == nil && coordinator.sharedRows.hasReturned(change.id)
  }

  /// True if an object that was deleted is known to be gone: in an ancestor, in the store, or before it came there.
  ///
  /// The delete that a child saved is none if the parent rolled back.
  private func isKnownDelete(_ change: RowChange) -> Bool {
    change.kind != .delete || ancestorsChange(of: change.id) != nil || coordinator.keys.isTemporary(change.id)
      || coordinator.sharedRows.hasDeparted(change.id)
  }

  /// Returns the newest row of a saved object in memory; nil if it was deleted, or is only in the store. Does no I/O.
  private func freshRow(_ change: RowChange) -> Row? {
    if let pending = ancestorsChange(of: change.id) { return pending.row }
    // It was dropped before it was stored.
    if coordinator.keys.isTemporary(change.id) { return nil }
    guard let row = change.row.map(coordinator.withoutTransients) else { return nil }
    guard let cached = coordinator.sharedRows.row(for: change.id), cached.version >= row.version, cached.version > 0
    else {
      return row.version == 0 ? nil : row
    }
    // Same version, but perhaps with values that the save derived.
    return cached.row
  }

  /// Updates an object to the next level's current values; its unsaved changes stay on top.
  func update(_ object: ManagedObject, to fresh: Row) {
    if object.state.contains(.inaccessible) {
      object.state.forgetMissing()
      object.state.insert(.fault)
    }
    if object.isInserted || object.isDeleted { return }
    object.toMany = nil
    if object.isUpdated { return rebase(object, onto: fresh) }
    if object.hasRow, object.row.isIdentical(to: fresh) || object.row.isNewer(than: fresh) {
      return copyDerived(from: fresh, into: object)
    }
    object.row = object.isFault ? fresh : withTransients(of: object.row, fresh)
    object.hasRow = true
    object.faultGroup = nil
    if !object.isFault { awake(object) }
  }

  /// Updates derived values of an object that otherwise has the saved row's version.
  func copyDerived(from fresh: Row, into object: ManagedObject) {
    let layout = layout(of: object)
    guard fresh.version == object.row.version, fresh.version > 0 else { return }
    let slots = coordinator.derivedSlots[object.entity.index].filter {
      !fresh.hasSameValue(as: object.row, $0, layout.storage[$0])
    }
    if slots.isEmpty { return }
    for slot in slots { object.row.copyValue(of: fresh, slot, layout.storage[slot]) }
    object.row.stamp(version: fresh.version)
  }

  /// Returns the values that an object's unsaved changes were made against: a child may have made them against others
  /// than the object showed here.
  func changeBase(of object: ManagedObject) -> Row? { pending.currentChange(of: object.objectID)?.base ?? object.base }

  /// Reapplies unsaved changes on top of newer values.
  ///
  /// If both sides changed a property, a root keeps its old base for it, and thus the old version: its save will detect
  /// the conflict and ask the policy.
  private func rebase(_ object: ManagedObject, onto fresh: Row) {
    guard let base = changeBase(of: object), !base.isIdentical(to: fresh), !base.isNewer(than: fresh) else { return }
    let layout = layout(of: object)
    let mine = object.row
    let fresh = withTransients(of: base, fresh)
    var newBase = fresh
    _ = conflicts.removeStored(of: object.objectID)
    if ancestors.isEmpty {
      let clashes = mine.changedSlots(from: base, layout: layout).filter { slot in
        let storage = layout.storage[slot]
        return !fresh.hasSameValue(as: base, slot, storage) && !fresh.hasSameValue(as: mine, slot, storage)
      }
      if !clashes.isEmpty {
        for slot in clashes { newBase.copyValue(of: base, slot, layout.storage[slot]) }
        newBase.stamp(version: base.version)
        conflicts.noteStored(fresh, of: object.objectID)
      }
    }
    object.base = newBase
    if pending.isRelinked(object.objectID) {
      object.row = newBase
      object.published = newBase
      return
    }
    object.row = mine.rebased(from: base, onto: newBase, layout: layout)
    object.published = object.row
    pending.replace(RowChange(.update, object.objectID, row: object.row, base: newBase))
  }

  /// Merges a delete: the object leaves, unless a root has unsaved edits of it.
  private func mergeDelete(of object: ManagedObject) {
    if object.isInserted { return }
    // The policy decides about edits when they are saved; other objects that now refer to this one are not edits of it.
    let isEdited = object.isUpdated && !pending.isRelinked(object.objectID)
    if isEdited, ancestors.isEmpty {
      conflicts.noteStored(nil, of: object.objectID)
      return
    }
    if object.hasChanges {
      pending.remove(object.objectID)
      pending.removeLinks(of: object.objectID)
      letGo(of: [object])
    }
    if !object.hasRow {
      object.row = Row(coordinator.layouts[object.entity.index])
      object.hasRow = true
    }
    object.state.subtract([.fault, .inaccessible])
    object.base = nil
    object.published = nil
    orphan(object)
  }
}

// MARK: - Changes known by ID

extension ObjectRegistry {
  /// Updates the objects to what is stored now; reads the rows of those that had values.
  func merge(remote set: ChangeSet) {
    checkExecutor()
    relationships.invalidateCaches()
    var stale: [ManagedObject] = []
    forEachRegistered(set) { object, change in
      // An ancestor may still have what another one lacks.
      let isThere = isStoredAgain(change) || ancestorsChange(of: change.id)?.row != nil
      if change.kind == .delete, !isThere {
        if isKnownDelete(change) { mergeDelete(of: object) } else { stale.append(object) }
      } else if !object.isInserted && !object.isDeleted {
        object.toMany = nil
        // One that was relinked must not stay so if it is gone.
        if object.isFault, !object.hasChanges { forgetRow(of: object) } else { stale.append(object) }
      }
    }
    read(stale)
    clearGoneReferences()
    assertInvariants()
  }

  /// Updates objects to the values stored now, or pending in an ancestor; objects that are gone leave.
  ///
  /// - Parameter trustsVersions: true if equal versions mean equal values; a foreign client can insert another row with
  ///   a deleted one's key.
  func read(_ stale: [ManagedObject], trustsVersions: Bool = true) {
    for family in Dictionary(grouping: stale, by: { $0.objectID.rootIndex }).values {
      do {
        let rows = try storedRows(for: family.map(\.objectID))
        for (object, stored) in zip(family, rows) {
          let pending = ancestorsChange(of: object.objectID)
          if let fresh = pending == nil ? stored?.row : pending?.row {
            if !trustsVersions, !object.isUpdated, hasOtherValues(object, fresh) { object.hasRow = false }
            update(object, to: fresh)
          } else {
            mergeDelete(of: object)
          }
        }
      } catch {
        // They are read again on their next use, which reports the error.
        for object in family where !object.hasChanges {
          forgetRow(of: object)
        }
      }
    }
  }
}

extension ObjectRegistry {
  private func hasOtherValues(_ object: ManagedObject, _ fresh: Row) -> Bool {
    object.row.entityIndex != fresh.entityIndex
      || !fresh.changedSlots(from: object.row, layout: layout(of: object)).isEmpty
  }
}

// MARK: - Refreshing

extension ObjectRegistry {
  /// Turns unchanged objects into faults, except those with transient values, which are read again and keep them;
  /// changed ones keep their values. What was only relinked has no changed values, and stays relinked.
  func refreshAll() {
    checkExecutor()
    publishChanges()
    relationships.invalidateCaches()
    var withTransients: [ManagedObject] = []
    for object in allObjects {
      object.state.forgetMissing()
      if object.hasChanges {
        if pending.isRelinked(object.objectID), !hasTransientValues(object) { forgetRow(ofRelinked: object) }
        continue
      }
      if hasTransientValues(object) { withTransients.append(object) } else { forgetRow(of: object) }
    }
    read(withTransients)
    for object in withTransients where object.registry === self { object.toMany = nil }
    conflicts.removeRows()
    assertInvariants()
  }

  /// Turns an object that was only relinked into a fault, which stays relinked.
  func forgetRow(ofRelinked object: ManagedObject) {
    (object.base, object.published) = (nil, nil)
    forgetRow(of: object)
  }

  /// Turns an unchanged object into a fault that will be read together with others.
  func forgetRow(of object: ManagedObject) {
    turnIntoFault(object)
    faultGroups.add(object)
  }
}

extension Row {
  /// Returns these changes of one row on top of another; a row of its own even if nothing differs, because the save
  /// gives it a version of its own.
  func rebased(from base: Row, onto newBase: Row, layout: RowLayout) -> Row {
    let row = newBase.applying(changesFrom: base, to: self, layout: layout)
    return row.isIdentical(to: newBase) ? row.unversioned : row
  }

  /// True if both are stored versions, and this is the same or a later one.
  fileprivate func isNewer(than other: Row) -> Bool { version > 0 && other.version > 0 && version >= other.version }
}
