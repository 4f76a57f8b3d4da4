extension ManagedObjectContext {
  /// Merges what others have committed to the store.
  ///
  /// If the change names its objects, this is ``mergeChanges(fromRemoteContextSave:)``. If not, the rows of all objects
  /// in memory are read again and compared; observers get one did-change whose ``ObjectsDidChange/isIncomplete`` is
  /// set, which makes results controllers fetch again. Unsaved edits stay.
  public func mergeChanges(fromRemoteChange change: PersistentStoreRemoteChange) {
    if let changes = change.changes { return mergeChanges(fromRemoteContextSave: changes) }
    processPendingChanges()
    pin.advance()
    let found = registry.mergeUnknownChanges()
    observers.post(.didChange(ObjectsDidChange(context: self, [found], isIncomplete: true)))
  }

  /// Queues the merge of a remote change on this context's executor; then its followers merge it.
  nonisolated func mergeSoon(_ change: PersistentStoreRemoteChange) {
    executor.async { [weak self] in
      self?.assumeIsolated { context in
        context.mergeChanges(fromRemoteChange: change)
        context.merging.tell(change)
      }
    }
  }
}

extension ObjectRegistry {
  /// Updates all objects to what is stored now, and returns the objects that this has changed.
  func mergeUnknownChanges() -> ChangeSet {
    checkExecutor()
    relationshipGeneration += 1
    var stale: [(object: ManagedObject, row: Row)] = []
    for object in objects.all where !object.isInserted && !object.isDeleted {
      object.toMany = nil
      if object.isFault { forgetRow(of: object) } else { stale.append((object, object.row)) }
    }
    read(stale.map(\.object), trustsVersions: false)
    assertInvariants()
    return ChangeSet(
      stale.compactMap { object, row in
        if object.registry == nil { return RowChange(.delete, object.objectID, row: nil, base: nil) }
        return object.row.isIdentical(to: row) ? nil : RowChange(.update, object.objectID, row: nil, base: nil)
      })
  }
}
