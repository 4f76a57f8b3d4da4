package import ObjectModel

/// What a save changes, as far as derived attributes are concerned.
package struct ChangedKeys {
  /// Keys by the index of the root entity.
  private var keys: [Int: Set<Int64>] = [:]
  private let links: [LinkChange]

  package init(_ sets: [ChangeSet]) {
    links = sets.flatMap(\.links)
    for set in sets {
      for change in set.changes { keys[Int(change.id.rootIndex), default: []].insert(change.id.key) }
      for batch in set.batches { keys[batch.entity.root.index, default: []].formUnion(batch.keys) }
    }
  }

  package subscript(_ entity: Entity) -> Set<Int64> { keys[entity.root.index] ?? [] }

  /// Notes values that were computed, from which others may be computed.
  package mutating func add(_ values: [DerivedValue]) {
    for value in values { keys[Int(value.id.rootIndex), default: []].insert(value.id.key) }
  }

  /// The objects at the near end of a relationship whose links change.
  fileprivate func nearEnds(of hop: Property) -> Set<Int64> {
    guard let table = hop.joinTable else { return [] }
    return Set(links.filter { $0.key.table == table.index }.map { (hop.isLeftEnd ? $0.key.left : $0.key.right).key })
  }
}

extension DerivedAttribute {
  /// The keys of the objects whose value may be another one after these changes.
  ///
  /// Relationships lead from what changes to them before the save or after it, so ask at both times.
  /// - Parameter near: the keys of objects from which a relationship leads to one of those with the given keys.
  package func affected(
    by changes: ChangedKeys, near: (_ hop: Property, _ origin: Entity, Set<Int64>) throws(StoreError) -> Set<Int64>
  ) throws(StoreError) -> Set<Int64> {
    var keys: Set<Int64> = []
    for (index, hop) in hops.enumerated().reversed() {
      if let destination = hop.destination { keys.formUnion(changes[destination]) }
      keys = keys.isEmpty ? [] : try near(hop, origin(ofHop: index), keys)
      keys.formUnion(changes.nearEnds(of: hop))
    }
    return keys.union(changes[entity])
  }
}
