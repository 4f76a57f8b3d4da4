/// What a save to the store came to, after conflicts were resolved.
struct SaveOutcome {
  /// What was written.
  var sets: [ChangeSet]
  /// The changes in it that have other values than they were saved with.
  var rewritten: [RowChange] = []
  /// Objects whose changes gave way to what is stored, with the stored row; nil if there is none.
  var dropped: [ManagedObjectID: Row?] = [:]
  /// Derived attributes with new values, of these objects and others.
  var derived: [DerivedValue] = []

  /// Objects that are stored, otherwise than the context wanted it.
  var survivors: Set<ManagedObjectID> {
    var survivors = Set(rewritten.lazy.filter { $0.kind != .delete }.map(\.id))
    for (id, row) in dropped where row != nil { survivors.insert(id) }
    return survivors
  }

  /// What conflicts did to objects of the saving context; nil if they did nothing.
  var resolved: ChangeSet? {
    let changes =
      rewritten.filter { $0.kind != .delete }
      + dropped.map { id, row in RowChange(row == nil ? .delete : .update, id, row: row, base: nil) }
    return changes.isEmpty ? nil : ChangeSet(changes)
  }
}
