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
