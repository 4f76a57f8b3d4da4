/// The changes of a packed transaction, for contexts that have such objects in memory.
package struct PackedNews: Sendable {
  /// Changes known by ID, without rows, and new rows.
  private(set) var changes: [RowChange] = []
  private(set) var batches: [RowBatch] = []
  /// True if more was changed than is worth naming: whatever is in memory is to be read again.
  private(set) var isIncomplete = false
  private var newRows = 0

  /// As many changes are named, and as many new rows kept.
  private static let limit = 1 << 16

  mutating func note(_ kind: RowChange.Kind, _ id: ManagedObjectID) {
    if isIncomplete { return }
    changes.append(RowChange(kind, id, row: nil, base: nil))
    bound()
  }

  mutating func note(_ batch: RowBatch) {
    if isIncomplete { return }
    newRows += batch.count
    batches.append(batch)
    bound()
  }

  private mutating func bound() {
    if changes.count <= Self.limit && newRows <= Self.limit { return }
    isIncomplete = true
    changes = []
    batches = []
  }
}

extension ManagedObjectContext {
  /// Takes over what a packed transaction of the root has written.
  ///
  /// Objects in memory get their new values, unsaved edits stay on top; observers get one did-change.
  package func mergeChanges(fromPacked news: PackedNews) {
    processPendingChanges()
    if news.isIncomplete {
      let found = registry.mergeUnknownChanges()
      return observers.post(.didChange(ObjectsDidChange(context: self, [found], isIncomplete: true)))
    }
    let set = ChangeSet(news.changes, batches: news.batches)
    if set.isEmpty { return }
    registry.merge(remote: set)
    observers.post(.didChange(ObjectsDidChange(context: self, [set])))
  }
}
