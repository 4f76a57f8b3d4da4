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
  ///
  /// - Parameter rewritten: changes that came to the store with other values than they were saved with.
  func finishSave(rewritten: [RowChange]) {
    for change in rewritten {
      if let row = change.row, let object = registeredObject(for: change.id) { object.row = row }
    }
    let saved = takeHeld()
    for object in saved {
      object.base = nil
      object.published = nil
      object.state.subtract([.inserted, .updated])
    }
    for object in saved {
      let wasDeleted = object.isDeleted
      object.didSave()
      if wasDeleted { orphan(object) }
    }
    assertInvariants()
  }
}
