import ObjectModel

/// The pending changes of a context and its ancestors to one family's rows; the nearest context's change wins.
struct Overlay {
  private(set) var changes: [ManagedObjectID: RowChange] = [:]
  /// The objects of `changes` in the order in which they came.
  private(set) var order: [ManagedObjectID] = []
  /// Packed inserts; `changes` override their rows.
  private(set) var batches: [RowBatch] = []

  var isEmpty: Bool { changes.isEmpty && batches.isEmpty }

  /// True if the overlay, and not the store, has the object's values.
  func contains(_ id: ManagedObjectID) -> Bool {
    changes[id] != nil || batches.contains { $0.index(of: id) != nil }
  }

  /// The maximum number of objects in the overlay.
  var objectCount: Int { changes.count + batches.reduce(0) { $0 + $1.count } }

  /// Returns the shared row of a packed insert, which will get its version; nil for other objects.
  func lastingRow(of id: ManagedObjectID) -> Row? {
    if changes[id] != nil { return nil }
    for batch in batches {
      if let index = batch.index(of: id) { return batch.row(at: index) }
    }
    return nil
  }

  /// Adds the changes of a context further away than those added before.
  ///
  /// - Parameter layers: the context's pending changes, newest first.
  mutating func add(_ layers: [Pending], root: Entity, layouts: [RowLayout]) {
    for (index, layer) in layers.enumerated() {
      let older = layers[(index + 1)...]
      layer.forEachChange(root: root) { change in
        guard changes[change.id] == nil else { return }
        changes[change.id] = older.change(under: change, layouts: layouts)
        order.append(change.id)
      }
      batches += layer.batches(root: root)
    }
  }
}
