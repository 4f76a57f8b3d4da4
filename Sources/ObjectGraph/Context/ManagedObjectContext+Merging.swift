extension ManagedObjectContext {
  /// Merges what another context has saved: refreshes updated objects, adds inserted ones, removes deleted ones.
  ///
  /// Unsaved edits of this context stay. Where both changed one property, this context's value stays until it saves;
  /// then its ``mergePolicy`` decides. Saves of this context itself, of another coordinator, and into a level that this
  /// context does not read from are ignored. Observers get one did-change. Cost: time in proportion to the changes or
  /// to the objects in memory, whichever are fewer; no I/O, unless a child's save was handed on since and concerns objects
  /// with changes here.
  ///
  ///     background.observe { event in
  ///       guard case .didSave(let save) = event else { return }
  ///       main.perform { $0.mergeChanges(fromContextDidSave: save) }
  ///     }
  public func mergeChanges(fromContextDidSave save: ContextDidSave) {
    guard isConcerned(by: save) else { return }
    processPendingChanges()
    pin.advance()
    let inserted = registry.merge(save.sets, isStored: save.isRoot, isObserved: observers.hasObservers)
    withExtendedLifetime(inserted) {
      if !save.sets.isEmpty { observers.post(.didChange(ObjectsDidChange(context: self, save.sets))) }
    }
    merging.tell(save)
  }

  /// Merges a save that is known by IDs only; reads the rows of objects in memory again.
  ///
  /// For code that runs in the context already; the static methods of the same name do it for several contexts.
  public func mergeChanges(fromRemoteContextSave save: RemoteContextSave) {
    let set = save.changeSet(for: coordinator)
    coordinator.sharedRows.forget(set.changes.lazy.map(\.id))
    merge(remote: set)
  }

  /// Merges a remote save into several contexts, each on its own executor, parents first.
  ///
  /// Returns when all have merged.
  public static func mergeChanges(
    fromRemoteContextSave save: RemoteContextSave, into contexts: [ManagedObjectContext]
  ) async {
    let sets = forgetRows(of: save, in: contexts)
    for context in contexts.sorted(by: { $0.ancestorCount < $1.ancestorCount }) {
      guard let set = sets[context.coordinator.ordinal] else { continue }
      await context.perform { $0.merge(remote: set) }
    }
  }

  /// Merges a remote save for synchronous code, waiting for each context; must not be called while one of them waits
  /// for it.
  public static func mergeChanges(
    fromRemoteContextSave save: RemoteContextSave, into contexts: [ManagedObjectContext]
  ) {
    let sets = forgetRows(of: save, in: contexts)
    for context in contexts.sorted(by: { $0.ancestorCount < $1.ancestorCount }) {
      guard let set = sets[context.coordinator.ordinal] else { continue }
      context.performAndWait { $0.merge(remote: set) }
    }
  }

  private static func forgetRows(of save: RemoteContextSave, in contexts: [ManagedObjectContext]) -> [UInt32: ChangeSet]
  {
    var sets: [UInt32: ChangeSet] = [:]
    for context in contexts where sets[context.coordinator.ordinal] == nil {
      let set = save.changeSet(for: context.coordinator)
      context.coordinator.sharedRows.forget(set.changes.lazy.map(\.id))
      sets[context.coordinator.ordinal] = set
    }
    return sets
  }

  private func merge(remote set: ChangeSet) {
    if set.isEmpty { return }
    processPendingChanges()
    pin.advance()
    registry.merge(remote: set)
    observers.post(.didChange(ObjectsDidChange(context: self, [set])))
  }

  private nonisolated var ancestorCount: Int { parent.map { $0.ancestorCount + 1 } ?? 0 }

  /// True if a save went to a level that this context reads from, and came from another context.
  private func isConcerned(by save: ContextDidSave) -> Bool {
    guard save.context !== self, save.context.coordinator === coordinator else { return false }
    guard let level = save.context.parent else { return true }
    return sequence(first: self, next: \.parent).dropFirst().contains { $0 === level }
  }
}

// MARK: - Automatic merging

extension ManagedObjectContext: MergeFollower {}

extension MergingState {
  /// Makes the followers merge a save, each on its executor; the saving context excepted.
  func tell(_ save: ContextDidSave) {
    for case let context as ManagedObjectContext in followers where context !== save.context {
      context.mergeSoon(save)
    }
  }
}

extension ManagedObjectContext {
  /// True if this context merges saves into its parent, or into the store, by itself; false at first.
  ///
  /// It merges asynchronously on its own executor, also when its parent saves, and when others commit to the store, if
  /// the store notices. A context that is confined to a thread can't.
  public nonisolated var automaticallyMergesChangesFromParent: Bool {
    get { merging.isFollowing }
    set {
      precondition(
        !newValue || !executor.isConfined, "\"\(name)\" is confined to a thread, so it can't merge by itself")
      merging.isFollowing = newValue
      let level = parent?.merging ?? coordinator.merging
      if newValue { level.add(self) } else { level.remove(self) }
    }
  }

  /// Queues the merge of a save on this context's executor.
  nonisolated func mergeSoon(_ save: ContextDidSave) {
    executor.async { [weak self] in
      self?.assumeIsolated { $0.mergeChanges(fromContextDidSave: save) }
    }
  }
}

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
    relationships.invalidateCaches()
    var stale: [(object: ManagedObject, row: Row)] = []
    for object in allObjects where !object.isInserted && !object.isDeleted {
      object.toMany = nil
      if object.isFault { forgetRow(of: object) } else { stale.append((object, object.row)) }
    }
    read(stale.map(\.object), trustsVersions: false)
    clearGoneReferences()
    assertInvariants()
    return ChangeSet(
      stale.compactMap { object, row in
        if object.registry == nil { return RowChange(.delete, object.objectID, row: nil, base: nil) }
        return object.row.isIdentical(to: row) ? nil : RowChange(.update, object.objectID, row: nil, base: nil)
      })
  }
}

extension ManagedObjectContext {
  /// Turns all unchanged objects into faults, which read their values again; changed ones keep their values.
  public func refreshAllObjects() {
    enter()
    registry.refreshAll()
  }
}

extension PersistentStoreCoordinator {
  /// The policy for conflicts in saves of this coordinator's contexts, unless a context has its own.
  public var mergePolicy: MergePolicy {
    get { merging.policy ?? .error }
    set { merging.policy = newValue }
  }
}

extension ManagedObjectContext {
  /// The policy for conflicts in saves of this root context.
  ///
  /// Unless one is set here, it is the parent's policy; a root inherits the coordinator's. A child's save meets no
  /// conflicts but those requested with ``detectConflicts(for:)``: a later save adds its changed properties to those of
  /// the others.
  public nonisolated var mergePolicy: MergePolicy {
    get { merging.policy ?? parent?.mergePolicy ?? coordinator.mergePolicy }
    set { merging.policy = newValue }
  }

  /// Makes the next save detect a conflict if others have changed this object since it was read here, whether it is changed
  /// here or not.
  ///
  /// It holds until a save succeeds, the object is refreshed, or the changes are rolled back. Cost: a look at the row
  /// in the save's transaction.
  public func detectConflicts(for object: ManagedObject) {
    enter()
    registry.detectConflicts(for: object)
  }
}

extension ObjectRegistry {
  func detectConflicts(for object: ManagedObject) {
    checkExecutor()
    precondition(object.registry === self, "\(object) belongs to another context than \"\(context.name)\"")
    if object.isFault { fire(object) }
    if object.isInserted || object.state.contains(.inaccessible) { return }
    conflicts.add(object.objectID, object.base ?? object.row)
  }
}
