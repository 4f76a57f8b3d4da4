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
        || families.toOne.contains(root) && change.kind != .insert && change.kind != .forget && !change.isEmptyUpdate
    }
    if changes.contains(where: touches) { return true }
    return bulk.contains { set in
      set.changes.contains(where: touches)
        || set.batches.contains { families.toMany.contains($0.entity.root.index) }
    }
  }
}
