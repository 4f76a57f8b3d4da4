extension ManagedObjectContext {
  /// Merges what another context has saved: refreshes updated objects, adds inserted ones, removes deleted ones.
  ///
  /// Unsaved edits of this context stay. Where both changed one property, this context's value stays until it saves;
  /// then its ``mergePolicy`` decides. Saves of this context itself, of another coordinator, and into a level that this
  /// context does not read from are ignored. Observers get one did-change. Cost: no I/O, and time in proportion to the
  /// changes or to the objects in memory, whichever are fewer.
  ///
  ///     background.observe { event in
  ///       guard case .didSave(let save) = event else { return }
  ///       main.perform { $0.mergeChanges(fromContextDidSave: save) }
  ///     }
  public func mergeChanges(fromContextDidSave save: ContextDidSave) {
    guard isConcerned(by: save) else { return }
    processPendingChanges()
    pin.advance()
    let inserted = registry.merge(save.sets, isObserved: observers.hasObservers)
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
    coordinator.forgetRows(of: set.changes.lazy.map(\.id))
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
      context.coordinator.forgetRows(of: set.changes.lazy.map(\.id))
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

extension ManagedObjectContext {
  /// True if this context merges saves into its parent, or into the store, by itself; false at first.
  ///
  /// It merges asynchronously on its own executor, also when its parent saves, and when others commit to the store, if
  /// the store notices. A context that is confined to a thread can't.
  public nonisolated var automaticallyMergesChangesFromParent: Bool {
    get { merging.isFollowing }
    set {
      precondition(
        !newValue || !executor.isConfined, "\"\(name)\" is confined to a thread, where nobody can make it merge")
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
