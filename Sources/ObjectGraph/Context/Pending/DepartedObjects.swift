/// The objects that have recently left a context for good: deleted by a root's save, or inserted and then dropped.
///
/// A delete that a child has saved to its parent is not among them: it can still be undone there.
///
/// Later changes by children are treated as if the delete were still pending here, so that the result does not depend
/// on the time of the save. Objects dropped from this set are left to the merge policy, when the store reports them.
extension RecentObjects {
  /// Notes changes that have gone to the next level.
  ///
  /// - Parameter isStored: true if that level is the store, so that deletes are final.
  mutating func note(
    _ saved: Pending, isStored: Bool, survivors: Set<ManagedObjectID>, _ coordinator: PersistentStoreCoordinator
  ) {
    if !isEmpty { remove { survivors.contains($0) || saved.change(of: $0)?.kind == .insert } }
    if isStored { saved.forEachDeparted([.delete]) { if !survivors.contains($0) { insert($0) } } }
    noteForgotten(saved, coordinator)
  }

  /// Notes dropped changes: the objects that they inserted are gone.
  mutating func note(dropped: Pending, _ coordinator: PersistentStoreCoordinator) {
    if dropped.objectCount > Self.generationLimit { return }
    noteForgotten(dropped, coordinator)
    for set in dropped.sets() {
      for change in set.changes where change.kind == .insert && coordinator.keys.isTemporary(change.id) {
        insert(change.id)
      }
      for batch in set.batches { for index in 0..<batch.count { insert(batch.id(at: index)) } }
    }
  }

  /// Notes cancelled inserts of new objects; a stored object that was inserted again is as it was before.
  mutating func noteForgotten(_ changes: Pending, _ coordinator: PersistentStoreCoordinator) {
    changes.forEachDeparted([.forget]) { if coordinator.keys.isTemporary($0) { insert($0) } }
  }
}
