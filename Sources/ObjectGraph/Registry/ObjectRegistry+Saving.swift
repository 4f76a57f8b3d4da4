import ObjectModel

extension ObjectRegistry {
  /// How often `willSave` may change objects before it is taken for an endless loop.
  private static let willSaveLimit = 1_000

  /// Lets changed objects prepare for the save, and again those that were changed by that.
  ///
  /// - Throws: ``EndlessWillSave`` if that does not come to an end.
  func runWillSave() throws(EndlessWillSave) {
    // Whether or not they were propagated at the end of the event: now they are.
    propagateDeletes()
    publishChanges()
    var waiting = held
    for _ in 0..<Self.willSaveLimit {
      for object in waiting where !(object.isInserted && object.isDeleted) { object.willSave() }
      propagateDeletes()
      waiting = touched.filter(hasNewValues)
      publishChanges()
      if waiting.isEmpty { return }
    }
    throw EndlessWillSave(contextName: context.name, objectIDs: waiting.map(\.objectID))
  }

  /// Whether an object is otherwise than it was published.
  private func hasNewValues(_ object: ManagedObject) -> Bool {
    guard let published = object.published ?? object.base, !object.isDeleted else { return true }
    return !object.row.changedSlots(from: published, layout: layout(of: object)).isEmpty
  }

  /// Checks all changed objects.
  ///
  /// - Throws: the one error, or ``ValidationErrors`` with all of them; a ``StoreError`` for objects without a key.
  func validate() throws {
    var errors: [any Error] = []
    for object in held {
      do { try validate(object) } catch let several as ValidationErrors {
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

  private func validate(_ object: ManagedObject) throws {
    switch (object.isInserted, object.isDeleted) {
    case (true, true): break
    case (false, true): try object.validateForDelete()
    case (true, false):
      try checkKey(of: object)
      try object.validateForInsert()
    case (false, false): if object.isUpdated { try object.validateForUpdate() }
    }
  }

  /// Makes the saved state the committed one.
  func finishSave(_ outcome: SaveOutcome) {
    saveCount += 1
    conflictChecks = [:]
    conflicting = [:]
    for change in outcome.rewritten {
      guard let row = change.row, let object = registeredObject(for: change.id) else { continue }
      object.row = row
      object.hasRow = true
      if !object.isFault { awake(object, from: .mergePolicy) }
    }
    let saved = takeHeld()
    for object in saved {
      // Deleted before they were saved: nobody is told of them.
      if object.state.isSuperset(of: [.inserted, .deleted]) {
        orphan(object)
        continue
      }
      if object.base != nil { object.base = nil }
      object.published = nil
      object.state.subtract([.inserted, .updated])
    }
    take(outcome.derived)
    for object in saved where object.registry === self && outcome.dropped[object.objectID] == nil {
      let wasDeleted = object.isDeleted
      object.didSave()
      guard wasDeleted else { continue }
      departed[object.objectID] = object
      orphan(object)
    }
    if !outcome.dropped.isEmpty { giveWay(outcome.dropped) }
    assertInvariants()
  }

  /// Gives objects the stored values in place of changes that were not saved; those that are not stored leave.
  private func giveWay(_ dropped: [ManagedObjectID: Row?]) {
    relationshipGeneration += 1
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

/// Objects whose `willSave` changes them, or others, each time it is called.
public struct EndlessWillSave: Error, Sendable, CustomStringConvertible {
  /// What the context is called.
  public let contextName: String
  /// The objects that were changed last.
  public let objectIDs: [ManagedObjectID]

  /// The context, some of the objects, and what to do.
  public var description: String {
    let shown = objectIDs.prefix(5).map { "\($0)" }.joined(separator: ", ")
    return "willSave goes on changing objects of \"\(contextName)\" (\(shown)); set a value there only if it differs, "
      + "or set it with setPrimitiveValue(_:forKey:)"
  }
}
