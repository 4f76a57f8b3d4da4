import ObjectModel

extension ObjectRegistry {
  /// The number of rounds of `willSave` after which it counts as an endless loop.
  private static let willSaveLimit = 1_000

  /// Calls `willSave` on changed objects, and again on those that it changed.
  ///
  /// - Throws: ``EndlessWillSave`` if that does not end.
  func runWillSave() throws {
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
    // Told at the save of whoever has set it, and not at that of the last context, where all who wait for it would fail.
    if coordinator.refusesNul {
      for object in changedObjects where !object.isFault && !object.isDeleted { errors += object.nulErrors() }
    }
    for object in changedObjects where mustValidate(object) {
      let wasUnread = object.isFault
      do {
        // Only one that was relinked can be unread; if it is gone, there is nothing to check.
        if try realize(object) { try validate(object) }
      } catch let several as ValidationErrors {
        errors += several.errors
      } catch let error as StoreError {
        throw error
      } catch {
        errors.append(error)
      }
      // Nobody has asked for its values yet, and the save itself may change those that are above.
      if wasUnread, isUnchangedSinceRead(object) { forgetRow(ofRelinked: object) }
    }
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
  }

  /// True if an object has no values of its own, also after its validation.
  private func isUnchangedSinceRead(_ object: ManagedObject) -> Bool {
    !object.isFault && !object.state.contains(.touched) && pending.isRelinked(object.objectID)
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

/// The rows by which a context detects conflicts of objects that its next save does not write, or must not overwrite.
final class ConflictChecks {
  /// Rows of unchanged objects that the next save must find unchanged in the store too.
  private var rows: [ManagedObjectID: Row] = [:]
  /// The stored rows that conflict with unsaved changes, as a merge found them; nil for a stored delete.
  private(set) var storedRows: [ManagedObjectID: Row?] = [:]

  /// True if the next save has no unchanged object to check.
  var isEmpty: Bool { rows.isEmpty }

  /// Makes the next save check that an object's row is still this one.
  func add(_ id: ManagedObjectID, _ row: Row) { rows[id] = row }

  /// Returns the rows that a save must find unchanged although it does not write them.
  func rows(besides sets: [ChangeSet]) -> [RowChange] {
    rows.compactMap { id, row in
      let isWritten = sets.contains { $0.change(of: id) != nil }
      return isWritten ? nil : RowChange(.update, id, row: row, base: row)
    }
  }

  /// Notes the stored row, or the stored delete, that conflicts with an object's unsaved changes.
  func noteStored(_ row: Row?, of id: ManagedObjectID) { storedRows[id] = .some(row) }

  /// Removes and returns the stored row that conflicts with an object's changes.
  func removeStored(of id: ManagedObjectID) -> Row?? { storedRows.removeValue(forKey: id) }

  /// Forgets an object.
  func remove(_ id: ManagedObjectID) {
    rows[id] = nil
    storedRows[id] = nil
  }

  /// Forgets the rows of unchanged objects.
  func removeRows() { rows = [:] }

  func removeAll() {
    rows = [:]
    storedRows = [:]
  }
}

/// The failures of one context that properties and initializers could not throw; its next save throws them.
final class DeferredFailures {
  /// The first read error.
  private var readFailure: (any Error)?
  /// The error that left a new object without a key; saves throw it while such objects are registered.
  private var keyFailure: StoreError?
  private var keylessCount: Int64 = 0

  /// Notes an error that could not be thrown; later ones are usually its consequences.
  func note(_ error: any Error) { readFailure = readFailure ?? error }

  /// Removes and returns the first error.
  func pop() -> (any Error)? {
    defer { readFailure = nil }
    return readFailure
  }

  /// Notes why the store has no key for a new object, and returns a negative one, which can't be saved.
  func substituteKey(_ error: StoreError) -> Int64 {
    keyFailure = error
    keylessCount += 1
    return -keylessCount
  }

  /// - Throws: the error that left the object without a key.
  func checkKey(of id: ManagedObjectID) throws(StoreError) {
    if id.key < 0, let keyFailure { throw keyFailure }
  }

  func removeAll() {
    readFailure = nil
    keyFailure = nil
  }
}
