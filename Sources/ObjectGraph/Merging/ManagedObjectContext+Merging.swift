extension ManagedObjectContext {
  /// Takes over what another context has saved: refreshes updated objects, faults in inserted, deletes deleted ones.
  ///
  /// Unsaved edits of this context stay. Where both changed one property, this context's value stays until it saves;
  /// then its ``mergePolicy`` decides. A save of this context itself, one of another coordinator, and one that did not
  /// reach a level which this context reads from are ignored. Observers get one did-change. Cost: no I/O, and time in
  /// proportion to the changes or to the objects in memory, whichever are fewer.
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

  /// Takes over what somebody else has saved, known by IDs only; reads the rows of objects in memory again.
  ///
  /// For code that runs in the context already; the static methods of the same name do it for several contexts.
  public func mergeChanges(fromRemoteContextSave save: RemoteContextSave) {
    let set = save.changeSet(for: coordinator)
    coordinator.forgetRows(of: set.changes.lazy.map(\.id))
    merge(remote: set)
  }

  /// Takes over in several contexts what somebody else has saved, each on its own executor, parents first.
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

  /// The same for synchronous code, which waits for each context; not to be called while one of them waits for it.
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

  /// Whether a save went to a level that this context reads from, and came from elsewhere.
  private func isConcerned(by save: ContextDidSave) -> Bool {
    guard save.context !== self, save.context.coordinator === coordinator else { return false }
    guard let level = save.context.parent else { return true }
    return sequence(first: self, next: \.parent).dropFirst().contains { $0 === level }
  }
}

// MARK: - Automatic merging

extension ManagedObjectContext {
  /// Whether this context takes over by itself what is saved into its parent, or into the store; false at first.
  ///
  /// It does so asynchronously, on its own executor, and on a save of its parent too; also with what others commit to
  /// the store, if the store notices. A context that is confined to a
  /// thread can't.
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

  /// Merges a save on this context's executor, after what is queued there already.
  nonisolated func mergeSoon(_ save: ContextDidSave) {
    executor.async { [weak self] in
      self?.assumeIsolated { $0.mergeChanges(fromContextDidSave: save) }
    }
  }
}
