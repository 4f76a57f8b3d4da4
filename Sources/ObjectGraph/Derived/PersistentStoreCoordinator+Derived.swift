import ObjectModel

extension PersistentStoreCoordinator {
  /// Returns true if an update changes nothing that a store keeps; its values then count as those stored before.
  func changesTransientsOnly(_ change: RowChange) -> Bool {
    guard change.kind == .update, let row = change.row, let base = change.base, base.version > 0 else { return false }
    let slots = transientSlots[Int(row.entityIndex)]
    if slots.isEmpty { return false }
    guard row.changedSlots(from: base, layout: layouts[Int(row.entityIndex)]).allSatisfy(slots.contains) else {
      return false
    }
    row.stamp(version: base.version)
    return true
  }

  /// The row as the store has it: transient values belong to the object that they were set in.
  func withoutTransients(_ row: Row) -> Row {
    let slots = transientSlots[Int(row.entityIndex)]
    if slots.allSatisfy(row.isNull) { return row }
    var kept = row
    for slot in slots { kept.setNull(slot) }
    kept.stamp(version: row.version)
    return kept
  }
}
