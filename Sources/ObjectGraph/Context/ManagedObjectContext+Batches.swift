import ObjectModel

extension ManagedObjectContext {
  /// Inserts many rows without making objects; from then on they are inserted objects like all others.
  ///
  /// The rows are not validated: the builder of a batch has checked them.
  package func insert(_ batch: RowBatch) {
    enter()
    let set = ChangeSet([], batches: [batch])
    pending.append(set)
    observers.post(.didChange(ObjectsDidChange(context: self, [set])))
  }
}
