/// The outcome of a save to the store, after conflicts were resolved.
struct SaveOutcome {
  /// The sets that were written.
  var sets: [ChangeSet]
  /// The written changes whose values were altered by the resolution.
  var rewritten: [RowChange] = []
  /// Objects whose changes were dropped in favour of the store, with the stored row; nil if there is none.
  var dropped: [ManagedObjectID: Row?] = [:]
  /// New values of derived attributes, of these objects and others.
  var derived: [DerivedValue] = []

  /// Objects that are stored with other values than the context wanted.
  var survivors: Set<ManagedObjectID> {
    var survivors = Set(rewritten.lazy.filter { $0.kind != .delete }.map(\.id))
    for (id, row) in dropped where row != nil { survivors.insert(id) }
    return survivors
  }

  /// The effects of conflicts on objects of the saving context; nil if there are none.
  var resolved: ChangeSet? {
    let changes =
      rewritten.filter { $0.kind != .delete }
      + dropped.map { id, row in RowChange(row == nil ? .delete : .update, id, row: row, base: nil) }
    return changes.isEmpty ? nil : ChangeSet(changes)
  }
}
