import ObjectModel

// The layers of one context's pending changes, newest first, as readers see them.

extension ArraySlice<Pending> {
  /// Returns the change of an object in all layers together; a delete stays one, even of an older layer's insert.
  func change(of id: ManagedObjectID, layouts: [RowLayout]) -> RowChange? {
    var rest = self
    while let newest = rest.popFirst() {
      if let change = newest.change(of: id) { return rest.change(under: change, layouts: layouts) }
    }
    return nil
  }

  /// Returns a newer change on top of these layers' change of the same object.
  func change(under newer: RowChange, layouts: [RowLayout]) -> RowChange {
    if newer.row == nil || isEmpty { return newer }
    guard let older = change(of: newer.id, layouts: layouts) else { return newer }
    return older.followed(by: newer, layouts: layouts)
  }
}

extension [Pending] {
  /// True if an object is known to be gone in these layers.
  func isGone(_ id: ManagedObjectID) -> Bool {
    for layer in self { if let isGone = layer.isGone(id) { return isGone } }
    return false
  }
}

// A child may relate an object one to one that its parent has related to another: the later save wins at both ends.

/// An object whose one-to-one partner a child has related to another object.
struct FormerPartner {
  let id: ManagedObjectID
  /// The slot of the relationship.
  let slot: Int
  let other: ManagedObjectID
}

extension [Pending] {
  /// Returns the one-to-one partners in these layers that some changes replace with others.
  ///
  /// Cost: nothing in models without one-to-one relationships.
  func formerPartners(of set: ChangeSet, _ layouts: [RowLayout]) -> [FormerPartner] {
    if set.isAllInserts || isEmpty || layouts.allSatisfy({ $0.partners.isEmpty }) { return [] }
    var found: [FormerPartner] = []
    for change in set.changes where change.kind == .update {
      guard let row = change.row, let base = change.base else { continue }
      for reference in layouts[Int(row.entityIndex)].partners {
        let goal = row.referenceIfPresent(reference.slot)
        guard let slot = reference.inverseSlot, goal != base.referenceIfPresent(reference.slot),
          let former = self[...].change(of: change.id, layouts: layouts)?.row?.referenceIfPresent(reference.slot),
          former != goal
        else { continue }
        found.append(FormerPartner(id: former, slot: slot, other: change.id))
      }
    }
    return found
  }

  /// Returns the changes that clear former partners' references, where they still have them.
  func parted(_ partners: [FormerPartner], _ layouts: [RowLayout]) -> [RowChange] {
    partners.compactMap { partner in
      guard let row = self[...].change(of: partner.id, layouts: layouts)?.row,
        row.referenceIfPresent(partner.slot) == partner.other
      else { return nil }
      var parted = row
      parted.setNull(partner.slot)
      return RowChange(.update, partner.id, row: parted, base: row)
    }
  }
}
