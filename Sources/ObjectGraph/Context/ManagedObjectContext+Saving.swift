import ObjectModel

extension ManagedObjectContext {
  /// Saves all changes one level up: into the parent, in memory; or, from a root context, into the store.
  ///
  /// The save is atomic. A failed save keeps all changes, so that the same save can succeed after they were corrected
  /// or the disk has room again. A root's save blocks its executor until the changes are on disk. A value that could
  /// not be read since the last save makes the save fail once, because other values may have been computed from it.
  /// - Throws: ``ValidationError``, ``ValidationErrors``, ``EndlessWillSave``, ``SaveConflicts`` or ``StoreError``.
  public func save() throws { try saveReporting() }

  /// Saves, and returns the event that reports it; nil if there was nothing to save.
  @discardableResult
  func saveReporting() throws -> ContextDidSave? {
    enter()
    registry.propagateDeletes()
    registry.processPendingChanges()
    reportChanges()
    if let failure = registry.failures.pop() { throw failure }
    // Objects that were inserted and deleted again leave without an event.
    if pending.isEmpty && registry.conflicts.isEmpty {
      pending.forgetCancelled()
      registry.finishSave(SaveOutcome(sets: []))
      registry.forgetDeparted()
      return nil
    }
    observers.post(.willSave(ContextWillSave(context: self)))
    registry.processPendingChanges()
    try registry.runWillSave()
    try registry.validate()
    reportChanges()
    return if let parent { try saveToParent(parent) } else { try saveToStore() }
  }

  private func saveToParent(_ parent: ManagedObjectContext) throws -> ContextDidSave {
    try checkAgainstParent()
    let origin = transactionOrigin
    let sets = pending.beginSave()
    // The parent gets the changes before they leave here, so that no reader misses them.
    let mustTell = parent.pending.adopt(sets, from: origin)
    pending.commitSave()
    let save = finishSave(SaveOutcome(sets: sets))
    if mustTell { parent.childDidSave() }
    return save
  }

  /// Compares the rows to check with those of the next level up, for a save to a parent.
  ///
  /// - Throws: ``SaveConflicts`` if the policy makes that an error, or ``StoreError`` if a row can't be read.
  private func checkAgainstParent() throws {
    var conflicts: [MergeConflict] = []
    // Also those that change here: the parent takes what comes last, and looks at nothing.
    for change in registry.conflicts.rows(besides: []) {
      let fresh = try registry.row(for: change.id)
      let layout = coordinator.layouts[Int(change.id.entityIndex)]
      if let fresh, let base = change.base, fresh.changedSlots(from: base, layout: layout).isEmpty { continue }
      let conflict = MergeConflict(
        change, stored: fresh, kind: .contextAgainstRowCache, model: coordinator.model)
      // With any other resolution the save continues, and adds what changes here to what the others have changed.
      if try mergePolicy.resolution(of: conflict) == nil { conflicts.append(conflict) }
    }
    if !conflicts.isEmpty { throw SaveConflicts(conflicts) }
  }

  private func saveToStore() throws -> ContextDidSave {
    let origin = transactionOrigin
    let sets = pending.beginSave()
    var outcome = SaveOutcome(sets: sets)
    do {
      let checks = registry.conflicts.rows(besides: sets)
      if !sets.isEmpty || !checks.isEmpty {
        outcome = try coordinator.save(
          sets, from: pending.rootNumber, policy: mergePolicy, checks: checks, origin: origin)
      }
    } catch {
      pending.abortSave()
      throw error
    }
    // The state that is read includes the changes before they leave here, so that no reader misses them.
    pin.advance()
    pending.commitSave(survivors: outcome.survivors)
    coordinator.noteSaved()
    return finishSave(outcome)
  }

  private func finishSave(_ outcome: SaveOutcome) -> ContextDidSave {
    registry.finishSave(outcome)
    registry.undo.manager?.endEvent()
    if let resolved = outcome.resolved { observers.post(.didChange(ObjectsDidChange(context: self, [resolved]))) }
    let save = ContextDidSave(context: self, outcome.sets, isRoot: parent == nil)
    observers.post(.didSave(save))
    registry.forgetDeparted()
    observers.post(.didSaveObjectIDs(ContextDidSaveObjectIDs(save)))
    // Siblings see the changes now, and children too, if the changes were made here or altered.
    (parent?.merging ?? coordinator.merging).tell(save)
    merging.tell(save)
    return save
  }
}

extension ManagedObjectContext {
  /// Inserts many rows without making objects; from then on they are inserted objects like all others.
  ///
  /// The rows are not validated: the builder of a batch has checked them.
  package func insert(_ batch: RowBatch) {
    enter()
    let set = ChangeSet([], batches: [batch])
    pending.append(set)
    observers.post(.didChange(ObjectsDidChange(context: self, [set])))
  }
}
