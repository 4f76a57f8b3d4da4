package import ObjectModel

/// Changes that wait for a save: one per object, except that large sets of inserts stay whole.
///
/// Every change is relative to the level that the save will go to. A change here overrides one in `bulk`.
struct Pending {
  /// Sets of at least this many inserts are kept by reference instead of being taken apart.
  static let bulkThreshold = 256

  private(set) var changes: [RowChange] = []
  private var positions: [ManagedObjectID: Int] = [:]
  /// Sets of inserts with no object in common.
  private(set) var bulk: [ChangeSet] = []
  /// How many of `changes` override one in `bulk`.
  private var overriding = 0
  private(set) var byteCount = 0
  private(set) var objectCount = 0

  var isEmpty: Bool { changes.isEmpty && bulk.isEmpty }

  /// The change of an object, or nil if there is none or it came to nothing.
  func change(of id: ManagedObjectID) -> RowChange? {
    guard let position = positions[id] else { return bulkChange(of: id) }
    return changes[position].kind == .forget ? nil : changes[position]
  }

  /// Takes changes made by the same context, or by a child of it, on top of what is here.
  ///
  /// - Parameter layouts: by entity index, to merge changes of different properties of one object.
  mutating func absorb(_ set: ChangeSet, layouts: [RowLayout]) {
    if set.isAllInserts, set.objectCount >= Self.bulkThreshold {
      keepWhole(set)
      return
    }
    for change in set.changes { absorb(change, layouts: layouts) }
    if !set.batches.isEmpty { keepWhole(ChangeSet([], batches: set.batches)) }
  }

  /// Inserts are always of objects that were not here before, so a set of nothing else overlaps with nothing.
  private mutating func keepWhole(_ set: ChangeSet) {
    bulk.append(set)
    byteCount += set.byteCount
    objectCount += set.objectCount
  }

  mutating func absorb(_ change: RowChange, layouts: [RowLayout]) {
    byteCount += change.byteCount
    if let position = positions[change.id] {
      byteCount -= changes[position].byteCount
      changes[position] = changes[position].followed(by: change, layouts: layouts)
      return
    }
    var change = change
    if change.kind != .insert, let earlier = bulkChange(of: change.id) {
      change = earlier.followed(by: change, layouts: layouts)
      overriding += 1
      objectCount -= 1
    }
    positions[change.id] = changes.count
    changes.append(change)
    objectCount += 1
  }

  /// Forgets the change of an object; the object is then as the next level has it.
  mutating func remove(_ id: ManagedObjectID) {
    guard let position = positions[id] else { return }
    byteCount -= changes[position].byteCount
    // A hole would have to be stepped over everywhere; a change that changes nothing is passed over at the save.
    changes[position] = RowChange(.forget, id, row: nil, base: nil)
  }

  private func bulkChange(of id: ManagedObjectID) -> RowChange? {
    for set in bulk {
      if let change = set.change(of: id) { return change }
    }
    return nil
  }

  /// The changes as sets in which every object occurs once, in order, without those that came to nothing.
  func sets() -> [ChangeSet] {
    var sets: [ChangeSet] = []
    for set in bulk { sets.append(overriding == 0 ? set : set.without { positions[$0] != nil }) }
    let rest = changes.contains { $0.kind == .forget } ? changes.filter { $0.kind != .forget } : changes
    if !rest.isEmpty { sets.append(ChangeSet(rest)) }
    return sets.filter { !$0.isEmpty }
  }

  /// Calls the body with each change of a family's objects.
  func forEachChange(root: Entity, _ body: (RowChange) throws -> Void) rethrows {
    let rootIndex = UInt16(truncatingIfNeeded: root.index)
    for set in bulk {
      for change in set.changes where change.id.rootIndex == rootIndex && positions[change.id] == nil {
        try body(change)
      }
      for batch in set.batches where batch.entity.root === root {
        for index in 0..<batch.count where positions[batch.id(at: index)] == nil {
          try body(RowChange(.insert, batch.id(at: index), row: batch.row(at: index), base: nil))
        }
      }
    }
    for change in changes where change.id.rootIndex == rootIndex && change.kind != .forget { try body(change) }
  }
}
