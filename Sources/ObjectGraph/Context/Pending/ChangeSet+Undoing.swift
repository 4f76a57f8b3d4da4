extension ChangeSet {
  /// The changes that undo these, for observers: who was told of an insert is told of a delete.
  var undone: ChangeSet {
    var changes = changes.map { change in
      switch change.kind {
      case .insert, .forget: RowChange(.delete, change.id, row: nil, base: nil)
      case .update: RowChange(.update, change.id, row: change.base, base: change.row)
      case .delete: RowChange(.insert, change.id, row: change.base, base: nil)
      }
    }
    for batch in batches {
      for index in 0..<batch.count { changes.append(RowChange(.delete, batch.id(at: index), row: nil, base: nil)) }
    }
    return ChangeSet(changes, relinked: relinked)
  }
}
