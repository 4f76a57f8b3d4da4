extension ManagedObjectContext {
  /// How often `willSave` may change objects before it is taken for an endless loop.
  private static let willSaveLimit = 1_000

  /// Saves all changes one level up: into the parent, in memory; or, from a root context, into the store.
  ///
  /// The save is atomic. A failed save keeps all changes, so that the same save can succeed after they were corrected
  /// or the disk has room again. A root's save blocks its executor until the changes are on disk.
  /// - Throws: ``ValidationError``, ``ValidationErrors``, ``SaveConflicts`` or ``StoreError``.
  public func save() throws {
    enter()
    processPendingChanges()
    if let failure = registry.takeFaultFailure() { throw failure }
    if pending.isEmpty { return }
    try runWillSave()
    try validate()
    observers.post(.willSave(ContextWillSave(context: self)))
    processPendingChanges()
    let sets = pending.beginSave()
    do {
      if let parent {
        let isFirst = parent.pending.adopt(sets)
        pending.commitSave()
        finishSave(sets)
        parent.childDidSave(isFirst: isFirst)
      } else {
        if !sets.isEmpty { try coordinator.save(sets) }
        pending.commitSave()
        finishSave(sets)
      }
    } catch {
      pending.abortSave()
      throw error
    }
  }

  private func runWillSave() throws {
    var rounds = 0
    var seen: Set<ManagedObjectID> = []
    while true {
      let waiting = registry.held.filter { !seen.contains($0.objectID) || $0.state.contains(.touched) }
      if waiting.isEmpty { return }
      for object in waiting {
        seen.insert(object.objectID)
        object.willSave()
      }
      processPendingChanges()
      rounds += 1
      precondition(rounds < Self.willSaveLimit, "willSave goes on changing objects of \"\(name)\" without end")
    }
  }

  private func validate() throws {
    var errors: [any Error] = []
    for object in registry.held {
      do {
        if object.isDeleted {
          if !object.isInserted { try registry.validateDelete(of: object) }
        } else if object.isInserted {
          try object.validateForInsert()
        } else if object.isUpdated {
          try object.validateForUpdate()
        }
      } catch let several as ValidationErrors {
        errors += several.errors
      } catch {
        errors.append(error)
      }
    }
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
  }

  private func finishSave(_ sets: [ChangeSet]) {
    let saved = registry.takeHeld()
    for object in saved {
      let wasDeleted = object.isDeleted
      object.base = nil
      object.published = nil
      object.state.subtract([.inserted, .updated, .touched, .held])
      object.didSave()
      if wasDeleted { registry.orphan(object) }
    }
    observers.post(.didSave(ContextDidSave(context: self, sets, isRoot: parent == nil)))
  }
}
