import ObjectModel

// Where a child relates an object one to one that its parent has related to another: the later save wins at both ends.

/// An object that leads to another one to one, which a child has related elsewhere.
struct FormerPartner {
  let id: ManagedObjectID
  /// The slot by which it leads to the other, and that.
  let slot: Int
  let other: ManagedObjectID
}

extension [Pending] {
  /// Where the objects of some changes lead in these layers, if the changes let them lead elsewhere.
  ///
  /// Cost: nothing in models without one-to-one relationships.
  func formerPartners(of set: ChangeSet, _ layouts: [RowLayout]) -> [FormerPartner] {
    if set.isAllInserts || isEmpty || layouts.allSatisfy(\.partners.isEmpty) { return [] }
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

  /// The changes that let former partners lead nowhere, if they still lead where they did.
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
