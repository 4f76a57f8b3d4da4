import ObjectModel

// One-to-one relationships in conflicts: where a resolution relates an object to another one than a side wanted, the
// other end of the former relationship is cleared.

extension ConflictResolver {
  /// Clears one-to-one references to objects that refer to others once their conflicts are resolved.
  ///
  /// - Parameter resolved: the conflicts with their resolved changes; nil for dropped ones.
  mutating func partFormerPartners(_ resolved: [(conflict: StoreConflict, change: RowChange?)]) throws {
    for (conflict, change) in resolved {
      guard let stored = conflict.stored?.row, let final = change == nil ? stored : change?.row else { continue }
      for reference in coordinator.layouts[Int(stored.entityIndex)].partners {
        guard let slot = reference.inverseSlot else { continue }
        let goal = final.referenceIfPresent(reference.slot)
        for row in [stored, conflict.change.row] {
          guard let other = row?.referenceIfPresent(reference.slot), other != goal else { continue }
          try part(other, slot, from: conflict.change.id)
        }
      }
    }
  }

  private mutating func part(_ id: ManagedObjectID, _ slot: Int, from other: ManagedObjectID) throws {
    var pending: RowChange?
    for set in outcome.sets { pending = set.change(of: id) ?? pending }
    if pending?.kind == .delete { return }
    guard var row = try pending?.row ?? coordinator.row(for: id)?.row, row.referenceIfPresent(slot) == other else {
      return
    }
    let base = pending == nil ? row : pending?.base
    row.setNull(slot)
    let parted = RowChange(pending?.kind ?? .update, id, row: row, base: base)
    if pending == nil { add(ChangeSet([parted])) } else { replaceChanges { $0.id == id ? parted : $0 } }
    noteRewritten(parted)
  }
}
