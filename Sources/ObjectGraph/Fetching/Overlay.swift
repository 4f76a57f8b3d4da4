/// What pending changes of a context and its ancestors do to one family's rows, the nearest context's change winning.
struct Overlay {
  private(set) var changes: [ManagedObjectID: RowChange] = [:]
  /// The objects in the order in which they came.
  private(set) var order: [ManagedObjectID] = []

  var isEmpty: Bool { changes.isEmpty }

  /// Adds a change unless a nearer context has one of the same object.
  mutating func add(_ change: RowChange) {
    if changes[change.id] == nil {
      changes[change.id] = change
      order.append(change.id)
    }
  }
}
