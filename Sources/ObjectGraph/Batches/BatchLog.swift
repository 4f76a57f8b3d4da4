import ObjectModel

/// The record of what a batch request has done so far, as far as its result and the coordinator need it.
struct BatchLog {
  private let kind: BatchResult.Kind
  private var count = 0
  private var objectIDs: [ManagedObjectID] = []
  private var inserted: [ManagedObjectID] = []
  private var updated: [ManagedObjectID] = []
  private var deleted: [ManagedObjectID] = []
  /// Rows that were stored before and are different now; nil if they are too many to be named.
  private(set) var stale: Set<ManagedObjectID>? = []

  /// The row cache is emptied rather than told of more rows than this.
  private static let staleLimit = 1 << 16

  init(_ kind: BatchResult.Kind) { self.kind = kind }

  var result: BatchResult {
    let changes = RemoteContextSave(inserted: inserted, updated: updated, deleted: deleted)
    return BatchResult(
      kind: kind, count: kind == .statusOnly ? 0 : count, objectIDs: objectIDs, changes: changes)
  }

  /// Notes objects that the request is about.
  mutating func count(_ ids: some Sequence<ManagedObjectID>) {
    for id in ids {
      count += 1
      if kind == .objectIDs { objectIDs.append(id) }
    }
  }

  /// Notes what was written.
  mutating func note(_ set: ChangeSet) {
    for change in set.changes {
      switch change.kind {
      case .insert: if kind == .objectIDs { inserted.append(change.id) }
      case .update:
        noteStale(change.id)
        if kind == .objectIDs { updated.append(change.id) }
      case .delete:
        noteStale(change.id)
        if kind == .objectIDs { deleted.append(change.id) }
      case .forget: break
      }
    }
    if kind == .objectIDs {
      for batch in set.batches { inserted += (0..<batch.count).map(batch.id) }
    }
  }

  /// Notes what was computed from what was written.
  mutating func note(_ derived: [DerivedValue]) {
    for value in derived { noteStale(value.id) }
  }

  /// Notes rows that were stored before and are different now.
  mutating func noteStale(_ ids: some Sequence<ManagedObjectID>) { for id in ids { noteStale(id) } }

  private mutating func noteStale(_ id: ManagedObjectID) {
    stale?.insert(id)
    if let count = stale?.count, count > Self.staleLimit { stale = nil }
  }
}
