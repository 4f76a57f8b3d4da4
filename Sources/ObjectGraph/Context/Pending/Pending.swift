import ObjectModel

/// The changes that wait for a save: one per object, except that large sets of inserts stay whole.
///
/// Every change is relative to the level that the save will go to. A change in `changes` overrides one in `bulk`.
struct Pending {
  /// Sets of at least this many inserts are kept by reference instead of being taken apart.
  static let bulkThreshold = 256

  /// One change per object in the order of the first touch, and holes where changes were removed.
  private(set) var changes: [RowChange] = []
  private var positions: [ManagedObjectID: Int] = [:]
  /// The set that `changes` came from, while there is only one.
  private var only: ChangeSet?
  /// Sets of inserts with no object in common.
  private(set) var bulk: [ChangeSet] = []
  /// The number of `changes` that override one in `bulk`.
  private var overriding = 0
  /// Changes of links. They are not counted: the objects at their ends are.
  private(set) var links: [LinkKey: LinkChange] = [:]
  /// Relinked objects without another change, see ``ChangeSet``.
  private var relinked: Set<ManagedObjectID> = []
  /// An index of the references in `changes`; made when an object is deleted, and maintained from then on.
  private var references: ReferenceIndex?
  /// True if any of `changes` is a delete, or was cancelled by one.
  private(set) var hasDeletes = false
  /// Bytes of memory that the changes keep alive.
  private(set) var byteCount = 0
  /// The number of objects with a change of their row; objects inserted and deleted again do not count.
  private var changeCount = 0

  /// The number of objects with a change, relinked ones included.
  var objectCount: Int { changeCount + relinked.count }

  /// True if no object and no link has a change; links of cancelled objects do not count.
  var isEmpty: Bool { objectCount == 0 && links.keys.allSatisfy(leadsNowhere) }

  /// True if an end of a link was cancelled, so that no other level knows of it.
  private func leadsNowhere(_ link: LinkKey) -> Bool {
    latestKind(of: link.left) == .forget || latestKind(of: link.right) == .forget
  }

  /// True if there is nothing at all, not even a cancelled change.
  var isUnused: Bool { changes.isEmpty && bulk.isEmpty && links.isEmpty && relinked.isEmpty }

  /// Returns the change of an object, or nil if there is none or it was cancelled.
  func change(of id: ManagedObjectID) -> RowChange? {
    guard let position = positions[id] else { return bulkChange(of: id) }
    return changes[position].kind == .forget ? nil : changes[position]
  }

  /// True if nothing is known of an object but that relationships kept elsewhere have changed.
  func isRelinked(_ id: ManagedObjectID) -> Bool { relinked.contains(id) }

  /// Returns the kind of the latest change of an object; nil if there is none, or only an insert in `bulk`.
  func latestKind(of id: ManagedObjectID) -> RowChange.Kind? { positions[id].map { changes[$0].kind } }

  /// Makes the index of references, if there is none yet. Cost: a pass over the changes.
  mutating func indexReferences(_ layouts: [RowLayout]) {
    if references != nil { return }
    var made = ReferenceIndex()
    for index in changes.indices { made.add(changes[index], layouts) }
    references = made
  }

  /// Returns the objects whose pending rows refer to another, or did before; ``indexReferences(_:)`` must come first.
  func owners(ofReferencesTo id: ManagedObjectID, layouts: [RowLayout]) -> [ManagedObjectID] {
    var owners = references?.owners(ofReferencesTo: id) ?? []
    for set in bulk { owners += set.owners(ofReferencesTo: id, layouts: layouts) }
    return owners
  }

  /// Removes links that meet a condition.
  mutating func unlink(_ isMeant: (LinkKey) -> Bool) {
    for (key, link) in links where link.isPresent && isMeant(key) { links[key] = LinkChange(key, isPresent: false) }
  }

  /// Calls the body with the objects that are deleted or cancelled here.
  ///
  /// - Parameter kinds: `.delete`, `.forget` or both.
  func forEachDeparted(_ kinds: Set<RowChange.Kind>, _ body: (ManagedObjectID) -> Void) {
    if !hasDeletes { return }
    for (id, position) in positions where kinds.contains(changes[position].kind) { body(id) }
  }

  /// Adds changes made by the same context, or by a child of it, on top of the present ones.
  ///
  /// - Parameter layouts: by entity index, to merge changes of different properties of one object.
  mutating func absorb(_ set: ChangeSet, layouts: [RowLayout]) {
    if !set.links.isEmpty || !set.relinked.isEmpty {
      for link in set.links { links[link.key] = links[link.key]?.followed(by: link) ?? link }
      let rest = ChangeSet(set.changes, batches: set.batches)
      if !rest.isEmpty { absorb(rest, layouts: layouts) }
      for id in set.relinked where positions[id] == nil && bulkChange(of: id) == nil { relinked.insert(id) }
      return
    }
    if !relinked.isEmpty { relinked = relinked.filter { set.change(of: $0) == nil } }
    if set.isAllInserts, set.objectCount >= Self.bulkThreshold, !knowsObject(of: set) {
      keepWhole(set)
    } else if isUnused, set.batches.isEmpty {
      adopt(set)
    } else {
      hasDeletes = hasDeletes || set.hasDeletes
      for change in set.changes { absorb(change, layouts: layouts) }
      if !set.batches.isEmpty { keepWhole(ChangeSet([], batches: set.batches)) }
    }
    assert(hasValidState)
  }

  /// Adds later changes on top of these.
  mutating func absorb(_ later: Pending, layouts: [RowLayout]) {
    if isUnused {
      self = later
    } else {
      for set in later.sets() { absorb(set, layouts: layouts) }
    }
  }

  /// True if an insert is of an object known here, because its delete was undone.
  ///
  /// Cost: a comparison per change here, or per change of the set, whichever are fewer.
  private func knowsObject(of set: ChangeSet) -> Bool {
    if positions.isEmpty { return false }
    return positions.count < set.changes.count
      ? positions.keys.contains { set.change(of: $0) != nil } : set.changes.contains { positions[$0.id] != nil }
  }

  /// Keeps a set that has no object in common with what is here.
  private mutating func keepWhole(_ set: ChangeSet) {
    bulk.append(set)
    byteCount += set.byteCount
    changeCount += set.objectCount
  }

  /// Adopts the first set's changes without a copy.
  private mutating func adopt(_ set: ChangeSet) {
    only = set
    references = nil
    hasDeletes = set.hasDeletes
    changes = set.changes
    positions = Dictionary(minimumCapacity: changes.count)
    for index in changes.indices { positions[changes[index].id] = index }
    byteCount = set.byteCount
    changeCount = set.objectCount
  }

  private mutating func absorb(_ change: RowChange, layouts: [RowLayout]) {
    only = nil
    if let position = positions[change.id] {
      replace(position, with: changes[position].followed(by: change, layouts: layouts))
      references?.add(changes[position], layouts)
      return
    }
    if change.kind != .insert, let earlier = bulkChange(of: change.id) {
      overriding += 1
      changeCount -= 1
      append(earlier.followed(by: change, layouts: layouts))
    } else {
      append(change)
    }
    references?.add(changes[changes.count - 1], layouts)
  }

  private mutating func append(_ change: RowChange) {
    positions[change.id] = changes.count
    changes.append(change)
    byteCount += change.byteCount
    changeCount += change.objectCount
  }

  private mutating func replace(_ position: Int, with change: RowChange) {
    byteCount += change.byteCount - changes[position].byteCount
    changeCount += change.objectCount - changes[position].objectCount
    changes[position] = change
  }

  /// Drops the change of an object that was not inserted here; it is then as the next level has it.
  mutating func remove(_ id: ManagedObjectID) {
    relinked.remove(id)
    guard let position = positions.removeValue(forKey: id) else { return }
    only = nil
    replace(position, with: RowChange(.forget, id, row: nil, base: nil))
    if changes.count > 2 * positions.count + 16 { closeHoles() }
    assert(hasValidState)
  }

  /// Drops the changes of an object's links.
  mutating func removeLinks(of id: ManagedObjectID) {
    if !links.isEmpty { links = links.filter { $0.key.left != id && $0.key.right != id } }
  }

  mutating func removeLink(_ key: LinkKey) { links[key] = nil }

  private mutating func closeHoles() {
    changes = changes.indices.filter { positions[changes[$0].id] == $0 }.map { changes[$0] }
    byteCount = bulk.reduce(0) { $0 + $1.byteCount } + changes.reduce(0) { $0 + $1.byteCount }
    for (position, change) in changes.enumerated() { positions[change.id] = position }
  }

  private func bulkChange(of id: ManagedObjectID) -> RowChange? {
    for set in bulk {
      if let change = set.change(of: id) { return change }
    }
    return nil
  }

  /// The changes as sets in which every object occurs once, in order, without cancelled ones, and their links.
  func sets() -> [ChangeSet] {
    var sets: [ChangeSet] = []
    for set in bulk { sets.append(overriding == 0 ? set : set.without { positions[$0] != nil }) }
    if let only, links.isEmpty, relinked.isEmpty { return sets + [only] }
    let hasForgotten = changes.contains { $0.kind == .forget }
    let rest = hasForgotten ? changes.filter { $0.kind != .forget } : changes
    let kept = hasForgotten ? links.values.filter { !leadsNowhere($0.key) } : Array(links.values)
    // In the order of their keys, which is the same for all who look.
    let touched = relinked.sorted { ($0.rootIndex, $0.key) < ($1.rootIndex, $1.key) }
    if !rest.isEmpty || !kept.isEmpty || !touched.isEmpty {
      sets.append(ChangeSet(rest, links: kept, relinked: touched))
    }
    return sets.filter { !$0.isEmpty }
  }

  /// Calls the body with each change of a family's objects, cancelled ones included, batches excepted.
  func forEachChange(root: Entity, _ body: (RowChange) -> Void) {
    let rootIndex = UInt16(truncatingIfNeeded: root.index)
    for set in bulk {
      for change in set.changes where change.id.rootIndex == rootIndex && positions[change.id] == nil { body(change) }
    }
    for (position, change) in changes.enumerated() where change.id.rootIndex == rootIndex {
      if change.kind != .forget || positions[change.id] == position { body(change) }
    }
  }

  /// Returns the batches of a family; changes of `forEachChange` override their rows.
  func batches(root: Entity) -> [RowBatch] {
    bulk.flatMap { set in set.batches.filter { $0.entity.root === root } }
  }
}

/// The pending change of an object.
enum PendingState {
  case changed(RowChange)
  /// Relationships have changed that no column of its row tells of, and its values are those of the level above.
  case relinked
}

// MARK: - Effects on conditions, and invariants

extension Pending {
  /// True if any of these changes can affect whether another object meets a condition.
  ///
  /// A stored object's to-one relationship can't lead to an inserted object.
  func touches(_ families: RelatedFamilies) -> Bool {
    if links.keys.contains(where: { families.joinTables.contains($0.table) }) { return true }
    if families.toOne.isEmpty && families.toMany.isEmpty { return false }
    func touches(_ change: RowChange) -> Bool {
      let root = Int(change.id.rootIndex)
      return families.toMany.contains(root)
        || families.toOne.contains(root) && change.kind != .insert && change.kind != .forget
    }
    if changes.contains(where: touches) { return true }
    return bulk.contains { set in
      set.changes.contains(where: touches)
        || set.batches.contains { families.toMany.contains($0.entity.root.index) }
    }
  }

  /// True if counts and positions agree with the changes; checked in full only while they are few.
  var hasValidState: Bool {
    if changes.count < positions.count || changeCount < 0 || byteCount < 0 { return false }
    if relinked.contains(where: { change(of: $0) != nil }) { return false }
    guard changes.count <= 512 else { return true }
    let live = changes.filter { $0.kind != .forget }
    let overrides = positions.keys.filter { bulkChange(of: $0) != nil }
    return positions.allSatisfy { $0.value < changes.count && changes[$0.value].id == $0.key }
      && overrides.count == overriding
      && changeCount == live.count + bulk.reduce(0) { $0 + $1.objectCount } - overriding
      && byteCount == changes.reduce(0) { $0 + $1.byteCount } + bulk.reduce(0) { $0 + $1.byteCount }
  }
}

extension RowChange {
  /// The number of objects that it changes.
  fileprivate var objectCount: Int { kind == .forget ? 0 : 1 }
}

extension RowChange {
  /// This change and then another of the same object, as one change against this one's base.
  ///
  /// A delete is final: an update by somebody who did not know of it yet is dropped.
  func followed(by next: RowChange, layouts: [RowLayout]) -> RowChange {
    switch (kind, next.kind) {
    case (.insert, .update):
      RowChange(.insert, next.id, row: merged(with: next, layouts: layouts), base: nil)
    case (.update, .update):
      RowChange(.update, next.id, row: merged(with: next, layouts: layouts), base: base)
    case (.insert, .delete):
      RowChange(.forget, id, row: nil, base: nil)
    case (.update, .delete):
      RowChange(.delete, id, row: nil, base: base)
    case (.forget, .insert):
      next
    case (.delete, .insert):
      // The delete was undone by who had made it.
      RowChange(.update, id, row: next.row, base: base)
    case (.delete, _), (.forget, _):
      self
    case (_, .insert), (_, .forget):
      // Keys are drawn once, and inserts that were deleted again are not passed on, so these do not occur.
      next
    }
  }

  /// The next change's values; where it was made against other values than these, both sides' changes together.
  private func merged(with next: RowChange, layouts: [RowLayout]) -> Row? {
    guard let mine = row, let theirs = next.row, let origin = next.base else { return next.row }
    if origin.isIdentical(to: mine) { return theirs }
    return mine.applying(changesFrom: origin, to: theirs, layout: layouts[Int(theirs.entityIndex)])
  }
}
