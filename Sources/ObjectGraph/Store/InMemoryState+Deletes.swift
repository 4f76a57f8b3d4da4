import ObjectModel

extension InMemoryState {
  /// The rows that a save would leave with a reference to an object that it deletes and that has to do with them.
  ///
  /// Cost: a pass over the rows that can lead there.
  func leadingToDeleted(_ rows: InMemoryRows) -> [StoreConflict] {
    let deleted = Set(rows.deletes.map(\.id))
    if deleted.isEmpty { return [] }
    var found: [StoreConflict] = []
    var known = deleted
    for change in rows.updates + rows.inserts {
      known.insert(change.id)
      if let row = change.row, leads(row, to: deleted) {
        found.append(StoreConflict(leadingToDeleted: change.id, stored: nil))
      }
    }
    for root in rootsLeading(to: Set(deleted.map { Int($0.rootIndex) })) {
      for (key, stored) in tables[root] where leads(stored.row, to: deleted) {
        let entity = model.entities[Int(stored.row.entityIndex)]
        let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: coordinatorOrdinal)
        if !known.contains(id) { found.append(StoreConflict(leadingToDeleted: id, stored: stored)) }
      }
    }
    return found
  }

  private func leads(_ row: Row, to deleted: Set<ManagedObjectID>) -> Bool {
    layouts[Int(row.entityIndex)].references.contains { reference in
      reference.isRuled && row.referenceIfPresent(reference.slot).map(deleted.contains) ?? false
    }
  }

  /// The families that have relationships to others.
  private func rootsLeading(to destinations: Set<Int>) -> Set<Int> {
    var roots: Set<Int> = []
    for (entity, layout) in zip(model.entities, layouts) {
      let leads = layout.references.contains { reference in
        guard reference.isRuled, let destination = entity.properties[reference.slot].destination else { return false }
        return destinations.contains(destination.rootIndex)
      }
      if leads { roots.insert(entity.rootIndex) }
    }
    return roots
  }
}
