import ObjectModel

extension ObjectRegistry {
  /// How often `willSave` may change objects before it is taken for an endless loop.
  private static let willSaveLimit = 1_000

  /// Lets changed objects prepare for the save, and again those that were changed by that.
  func runWillSave() {
    // Whether or not they were propagated at the end of the event: now they are.
    propagateDeletes()
    publishChanges()
    var waiting = held
    for _ in 0..<Self.willSaveLimit {
      for object in waiting { object.willSave() }
      propagateDeletes()
      waiting = touched
      publishChanges()
      if waiting.isEmpty { return }
    }
    preconditionFailure("willSave goes on changing objects of \"\(context.name)\" without end")
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
    case (false, true): try validateDelete(of: object)
    case (true, false):
      try checkKey(of: object)
      try object.validateForInsert()
    case (false, false): if object.isUpdated { try object.validateForUpdate() }
    }
  }

  /// Makes the saved state the committed one.
  func finishSave(_ outcome: SaveOutcome) {
    conflictChecks = [:]
    conflicting = [:]
    for change in outcome.rewritten {
      guard let row = change.row, let object = registeredObject(for: change.id) else { continue }
      object.row = row
      object.hasRow = true
    }
    let saved = takeHeld()
    for object in saved {
      if object.base != nil { object.base = nil }
      object.published = nil
      object.state.subtract([.inserted, .updated])
    }
    for object in saved where outcome.dropped[object.objectID] == nil {
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
