/// The objects that have lately left a context for good: deleted by a root's save, or new and taken back; bounded.
///
/// A delete that a child has handed on is not among them: above it may still be taken back, and is looked for there.
///
/// What children do with them later counts as if the delete still waited here, so that it does not depend on when the
/// context was saved. What was forgotten is for the merge policy, when it is found at the store.
struct DepartedObjects {
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

  /// Takes notice of changes that have gone to the next level.
  ///
  /// - Parameter isStored: whether that is the store, so that its deletes are final.
  mutating func note(_ saved: Pending, isStored: Bool, survivors: Set<ManagedObjectID>) {
    if !isEmpty { remove { survivors.contains($0) || saved.change(of: $0)?.kind == .insert } }
    saved.forEachDeparted(isStored ? [.delete, .forget] : [.forget]) { if !survivors.contains($0) { insert($0) } }
  }

  /// Takes notice of changes that were dropped: what they inserted is known to nobody any more.
  mutating func note(dropped: Pending) {
    if dropped.objectCount > Self.generationLimit { return }
    noteForgotten(dropped)
    for set in dropped.sets() {
      for change in set.changes where change.kind == .insert { insert(change.id) }
      for batch in set.batches { for index in 0..<batch.count { insert(batch.id(at: index)) } }
    }
  }

  /// Takes notice of what came to nothing before it was handed on.
  mutating func noteForgotten(_ changes: Pending) { changes.forEachDeparted([.forget]) { insert($0) } }

  /// Takes objects out that have come back, because somebody undid their delete.
  private mutating func remove(_ isBack: (ManagedObjectID) -> Bool) {
    for id in young where isBack(id) { young.remove(id) }
    for id in old where isBack(id) { old.remove(id) }
  }
}
