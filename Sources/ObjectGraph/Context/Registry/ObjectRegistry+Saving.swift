import ObjectModel

extension ObjectRegistry {
  /// The number of rounds of `willSave` after which it counts as an endless loop.
  private static let willSaveLimit = 1_000

  /// Calls `willSave` on changed objects, and again on those that it changed.
  ///
  /// - Throws: ``EndlessWillSave`` if that does not end.
  func runWillSave() throws(EndlessWillSave) {
    // They may have been propagated at the end of the event or not: now they are.
    propagateDeletes()
    publishChanges()
    var waiting = changedObjects
    for _ in 0..<Self.willSaveLimit {
      for object in waiting where hasHooks(object) && !(object.isInserted && object.isDeleted) { object.willSave() }
      propagateDeletes()
      waiting = touchedObjects.filter(hasNewValues)
      publishChanges()
      clearGoneReferences()
      if waiting.isEmpty { return }
    }
    throw EndlessWillSave(contextName: context.name, objectIDs: waiting.map(\.objectID))
  }

  /// True if the object's class may override hooks.
  func hasHooks(_ object: ManagedObject) -> Bool { !type(of: object).isGenerated }

  /// True if an object differs from its published row.
  private func hasNewValues(_ object: ManagedObject) -> Bool {
    guard let published = object.published ?? object.base, !object.isDeleted else { return true }
    return !object.row.changedSlots(from: published, layout: layout(of: object)).isEmpty
  }

  /// Checks all changed objects.
  ///
  /// - Throws: the one error, or ``ValidationErrors`` with all of them; a ``StoreError`` for objects without a key.
  func validate() throws {
    var errors: [any Error] = []
    for object in changedObjects where mustValidate(object) {
      do {
        // Only one that a child has relinked can be unread; if it is gone, there is nothing to check.
        if try realize(object) { try validate(object) }
      } catch let several as ValidationErrors {
        errors += several.errors
      } catch let error as StoreError {
        throw error
      } catch {
        errors.append(error)
      }
    }
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
  }

  /// True if there is anything to check: the object is deleted, its entity has rules, or its class may override a
  /// check.
  private func mustValidate(_ object: ManagedObject) -> Bool {
    object.isDeleted || object.objectID.key < 0 || hasHooks(object) || !rules[object.entity].isEmpty
  }

  private func validate(_ object: ManagedObject) throws {
    switch (object.isInserted, object.isDeleted) {
    case (true, true): break
    case (false, true): try object.validateForDelete()
    case (true, false):
      try failures.checkKey(of: object.objectID)
      try object.validateForInsert()
    case (false, false): if object.isUpdated { try object.validateForUpdate() }
    }
  }

  /// Makes the saved values the committed ones.
  func finishSave(_ outcome: SaveOutcome) {
    undo.noteSave()
    conflicts.removeAll()
    relationships.forgetSlots()
    // What was resolved shows what others have linked meanwhile, too.
    if !outcome.rewritten.isEmpty { relationships.invalidateCaches() }
    for change in outcome.rewritten {
      guard let row = change.row, let object = registeredObject(for: change.id) else { continue }
      object.row = row
      object.hasRow = true
      // What was to be deleted and gave way is there, however others have changed it.
      object.state.remove(.deleted)
      if !object.isFault { awake(object, from: .mergePolicy) }
    }
    // Only these are gone through again: a pass over many objects finds few of them in the processor's cache.
    var toTell: [ManagedObject] = []
    for object in drainChangedObjects() {
      // Deleted before they were saved: not reported.
      if object.state.isSuperset(of: [.inserted, .deleted]) {
        orphan(object)
        continue
      }
      if object.base != nil { object.base = nil }
      object.published = nil
      object.state.subtract([.inserted, .updated])
      if object.isDeleted || hasHooks(object) { toTell.append(object) }
    }
    applyDerived(outcome.derived)
    for object in toTell where object.registry === self && outcome.dropped[object.objectID] == nil {
      let wasDeleted = object.isDeleted
      object.didSave()
      guard wasDeleted else { continue }
      depart(object)
    }
    if !outcome.dropped.isEmpty { giveWay(outcome.dropped) }
    assertInvariants()
  }

  /// Updates derived values after a save; objects changed since then get them when they are refreshed.
  func applyDerived(_ values: [DerivedValue]) {
    for value in values {
      guard let object = registeredObject(for: value.id), object.hasRow, !object.hasChanges else { continue }
      object.row = object.row.withDerived(value)
    }
  }

  /// Replaces dropped changes with the stored values; objects that are not stored leave.
  private func giveWay(_ dropped: [ManagedObjectID: Row?]) {
    relationships.invalidateCaches()
    for (id, row) in dropped {
      guard let object = registeredObject(for: id) else { continue }
      object.state.subtract([.updated, .deleted])
      if let row {
        object.row = row
        object.hasRow = true
        object.toMany = nil
      } else {
        orphan(object)
      }
    }
  }
}

/// An error about objects whose `willSave` changes objects each time it is called.
public struct EndlessWillSave: Error, Sendable, CustomStringConvertible {
  /// The name of the context.
  public let contextName: String
  /// The objects that were changed last.
  public let objectIDs: [ManagedObjectID]

  /// The context, some of the objects, and what to do.
  public var description: String {
    let shown = objectIDs.prefix(5).map { "\($0)" }.joined(separator: ", ")
    return "willSave keeps changing objects of \"\(contextName)\" (\(shown)); set a value there only if it differs, "
      + "or set it with setPrimitiveValue(_:forKey:)"
  }
}

extension Row {
  /// The row under the same version with a computed value.
  fileprivate func withDerived(_ derived: DerivedValue) -> Row {
    var row = self
    row.set(derived.value, derived.slot)
    row.stamp(version: version)
    return row
  }
}
