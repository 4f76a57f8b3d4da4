import ObjectModel

extension ManagedObjectContext {
  /// Adds many new rows without making objects; they are inserted objects like all others from then on.
  ///
  /// The rows are not validated: whoever builds a batch has checked them.
  package func insert(_ batch: RowBatch) {
    enter()
    let set = ChangeSet([], batches: [batch])
    pending.append(set)
    observers.post(.didChange(ObjectsDidChange(context: self, [set])))
  }
}
