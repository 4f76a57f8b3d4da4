import ObjectModel

extension ObjectRegistry {
  /// Sets a to-one relationship and its inverse, and clears the ones that no longer hold.
  func setToOne(of object: ManagedObject, _ slot: Int, to destination: ManagedObject?) {
    checkExecutor()
    let property = object.entity.properties[slot]
    if let destination { check(destination, property) }
    let oldID = object.readable.referenceIfPresent(slot)
    if oldID == destination?.objectID { return }
    let old = oldID.map { self.object(with: $0) }
    write(object, slot, destination)
    guard let inverse = property.inverse else { return }
    if inverse.storage == .toMany {
      if let old { old.toMany?[inverse.slot]?.ids.remove(object.objectID) }
      if let destination { destination.toMany?[inverse.slot]?.ids.insert(object.objectID) }
      return
    }
    if let old, readReference(old, inverse.slot) == object.objectID { write(old, inverse.slot, nil) }
    if let destination {
      // Whoever had the destination before loses it.
      if let previousID = readReference(destination, inverse.slot), previousID != object.objectID {
        let previous = self.object(with: previousID)
        if readReference(previous, slot) == destination.objectID { write(previous, slot, nil) }
      }
      write(destination, inverse.slot, object)
    }
  }

  private func check(_ destination: ManagedObject, _ property: Property) {
    precondition(
      destination.registry === self,
      "\(property.name) can't lead from \"\(context.name)\" to an object of another context; use object(with:)")
    if let entity = property.destination {
      precondition(
        destination.entity.isKind(of: entity),
        "\(property.name) leads to \(entity.name), not to \(destination.entity.name)")
    }
  }

  private func readReference(_ object: ManagedObject, _ slot: Int) -> ManagedObjectID? {
    object.readable.referenceIfPresent(slot)
  }

  private func write(_ object: ManagedObject, _ slot: Int, _ destination: ManagedObject?) {
    object.willChange(slot)
    if let destination { object.row.setReference(destination.objectID, slot) } else { object.row.setNull(slot) }
  }

  /// The IDs of a to-many relationship's destinations: one fetch, then remembered.
  func toManyIDs(of object: ManagedObject, _ slot: Int) -> Set<ManagedObjectID> {
    checkExecutor()
    if let cache = object.toMany?[slot], cache.generation == relationshipGeneration { return cache.ids }
    let property = object.entity.properties[slot]
    guard let inverse = property.inverse, let destination = property.destination else { return [] }
    do {
      var query = FetchQuery(entity: destination)
      query.condition = .compare(.keyPath([inverse.name]), .equal, .object(object.objectID), [])
      let ids = Set(try FetchExecution(self, query).ids())
      object.toMany = object.toMany ?? [:]
      object.toMany?[slot] = ToManyCache(ids: ids, generation: relationshipGeneration)
      return ids
    } catch {
      noteFaultFailure(error)
      return []
    }
  }
}
