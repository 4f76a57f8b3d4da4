/// The unpublished links and the changed to-many relationships of one context.
///
/// Accesses never overlap, as those of ``ObjectRegistry``: no check at run time.
final class RelationshipChanges {
  @exclusivity(unchecked) private var links: [LinkKey: LinkChange] = [:]
  /// The slots of to-many relationships whose destinations were changed since the last save.
  @exclusivity(unchecked) private var slots: [ManagedObjectID: Set<Int>] = [:]
  /// A counter of changes from outside; each makes cached to-many relationships stale.
  @exclusivity(unchecked) private(set) var generation = 0

  /// The same counter as new objects store it; 0 only once in four billion.
  var birthGeneration: UInt32 { UInt32(truncatingIfNeeded: generation &+ 1) }

  /// Makes all cached to-many relationships stale.
  func invalidateCaches() { generation += 1 }

  // MARK: Links

  /// True if no link was changed since changes were published.
  var hasNoLinks: Bool { links.isEmpty }

  /// The links changed since changes were published.
  var changedLinks: some Collection<LinkKey> { links.keys }

  /// Adds a change on top of an earlier one of the same link.
  func record(_ change: LinkChange) { links[change.key] = links[change.key]?.followed(by: change) ?? change }

  /// Sets the change of a link, whatever was changed before.
  func replace(_ change: LinkChange) { links[change.key] = change }

  /// Removes and returns the links changed since the last call.
  func drainLinks() -> [LinkChange] {
    if links.isEmpty { return [] }
    defer { links = [:] }
    return Array(links.values)
  }

  // MARK: To-many relationships

  /// Notes that a to-many relationship of an object was changed.
  func noteChange(of id: ManagedObjectID, _ slot: Int) { slots[id, default: []].insert(slot) }

  /// Returns the slots of an object's to-many relationships that were changed since the last save.
  func changedSlots(of id: ManagedObjectID) -> Set<Int> { slots[id] ?? [] }

  /// Forgets the changed to-many relationships of an object.
  func forgetSlots(of id: ManagedObjectID) { slots[id] = nil }

  /// Forgets the changed to-many relationships of all objects.
  func forgetSlots() { slots = [:] }

  /// Forgets all changes; caches stay as they are.
  func removeAll() {
    links = [:]
    slots = [:]
  }
}
