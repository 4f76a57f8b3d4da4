extension ManagedObjectContext {
  /// Saves all changes one level up: into the parent, in memory; or, from a root context, into the store.
  ///
  /// The save is atomic. A failed save keeps all changes, so that the same save can succeed after they were corrected
  /// or the disk has room again. A root's save blocks its executor until the changes are on disk. A value that could
  /// not be read since the last save makes the save fail once, because what was derived from it may be wrong.
  /// - Throws: ``ValidationError``, ``ValidationErrors``, ``SaveConflicts`` or ``StoreError``.
  public func save() throws {
    registry.propagateDeletes()
    processPendingChanges()
    if let failure = registry.takeFaultFailure() { throw failure }
    // Objects that were inserted and deleted again leave without anybody being told.
    if pending.isEmpty { return registry.finishSave(rewritten: []) }
    observers.post(.willSave(ContextWillSave(context: self)))
    registry.processPendingChanges()
    registry.runWillSave()
    try registry.validate()
    reportChanges()
    if let parent { saveToParent(parent) } else { try saveToStore() }
  }

  private func saveToParent(_ parent: ManagedObjectContext) {
    let sets = pending.beginSave()
    // The parent has the changes before they leave here, so that no reader misses them.
    let mustTell = parent.pending.adopt(sets)
    pending.commitSave()
    finishSave(sets, rewritten: [])
    if mustTell { parent.childDidSave() }
  }

  private func saveToStore() throws {
    let sets = pending.beginSave()
    let rewritten: [RowChange]
    do {
      rewritten = sets.isEmpty ? [] : try coordinator.save(sets, from: pending.rootNumber)
    } catch {
      pending.abortSave()
      throw error
    }
    pending.commitSave()
    finishSave(sets, rewritten: rewritten)
  }

  private func finishSave(_ sets: [ChangeSet], rewritten: [RowChange]) {
    registry.finishSave(rewritten: rewritten)
    observers.post(.didSave(ContextDidSave(context: self, sets, isRoot: parent == nil)))
  }
}
