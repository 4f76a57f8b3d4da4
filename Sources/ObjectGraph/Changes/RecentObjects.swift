/// Objects that something has lately happened to; bounded.
struct RecentObjects {
  private var young: Set<ManagedObjectID> = []
  private var old: Set<ManagedObjectID> = []
  private static let generationLimit = 1 << 14

  var isEmpty: Bool { young.isEmpty && old.isEmpty }

  func contains(_ id: ManagedObjectID) -> Bool { young.contains(id) || old.contains(id) }

  mutating func insert(_ id: ManagedObjectID) {
    if young.count >= Self.generationLimit {
      old = young
      young = []
    }
    young.insert(id)
  }

  mutating func remove(_ id: ManagedObjectID) {
    young.remove(id)
    old.remove(id)
  }

  /// Takes objects out, which are looked at one by one.
  private mutating func remove(where isMeant: (ManagedObjectID) -> Bool) {
    for id in young where isMeant(id) { young.remove(id) }
    for id in old where isMeant(id) { old.remove(id) }
  }
}

/// The objects that have lately left a context for good: deleted by a root's save, or new and taken back.
///
/// A delete that a child has handed on is not among them: above it may still be taken back, and is looked for there.
///
/// What children do with them later counts as if the delete still waited here, so that it does not depend on when the
/// context was saved. What was forgotten is for the merge policy, when it is found at the store.
extension RecentObjects {
  /// Takes notice of changes that have gone to the next level.
  ///
  /// - Parameter isStored: whether that is the store, so that its deletes are final.
  mutating func note(
    _ saved: Pending, isStored: Bool, survivors: Set<ManagedObjectID>, _ coordinator: PersistentStoreCoordinator
  ) {
    if !isEmpty { remove { survivors.contains($0) || saved.change(of: $0)?.kind == .insert } }
    if isStored { saved.forEachDeparted([.delete]) { if !survivors.contains($0) { insert($0) } } }
    noteForgotten(saved, coordinator)
  }

  /// Takes notice of changes that were dropped: what they inserted is known to nobody any more.
  mutating func note(dropped: Pending, _ coordinator: PersistentStoreCoordinator) {
    if dropped.objectCount > Self.generationLimit { return }
    noteForgotten(dropped, coordinator)
    for set in dropped.sets() {
      for change in set.changes where change.kind == .insert && coordinator.isTemporary(change.id) { insert(change.id) }
      for batch in set.batches { for index in 0..<batch.count { insert(batch.id(at: index)) } }
    }
  }

  /// Takes notice of what came to nothing before it was handed on; an object that was to be made again is as it was.
  mutating func noteForgotten(_ changes: Pending, _ coordinator: PersistentStoreCoordinator) {
    changes.forEachDeparted([.forget]) { if coordinator.isTemporary($0) { insert($0) } }
  }
}
