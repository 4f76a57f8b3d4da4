import ObjectModel

extension ObjectRegistry {
  /// Sets a to-one relationship and its inverse, and clears the ones that no longer hold.
  func setToOne(of object: ManagedObject, _ slot: Int, to destination: ManagedObject?) {
    checkExecutor()
    let property = object.entity.properties[slot]
    precondition(object.registry === self, "\(object) is of another context than \"\(context.name)\"")
    if let destination { check(destination, property) }
    let oldID = object.readable.referenceIfPresent(slot)
    if oldID == destination?.objectID { return }
    write(object, slot, destination)
    guard let inverse = property.inverse else { return }
    if inverse.storage == .toMany {
      // Relationships that nobody asked for are fetched when somebody does.
      if let oldID { registeredObject(for: oldID)?.toMany?[inverse.slot]?.ids.remove(object.objectID) }
      destination?.toMany?[inverse.slot]?.ids.insert(object.objectID)
    } else {
      if let oldID { clear(inverse.slot, of: self.object(with: oldID), leadingTo: object) }
      if let destination { take(destination, inverse.slot, for: object, slot) }
    }
  }

  /// Relates a destination to its new owner; whoever had it before loses it.
  private func take(_ destination: ManagedObject, _ inverseSlot: Int, for owner: ManagedObject, _ slot: Int) {
    if let previousID = destination.readable.referenceIfPresent(inverseSlot), previousID != owner.objectID {
      clear(slot, of: self.object(with: previousID), leadingTo: destination)
    }
    write(destination, inverseSlot, owner)
  }

  /// Sets a to-one relationship to nil if it leads to that object.
  private func clear(_ slot: Int, of object: ManagedObject, leadingTo destination: ManagedObject) {
    if !object.isDeleted, object.readable.referenceIfPresent(slot) == destination.objectID {
      write(object, slot, nil)
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
    // Rows with what this event changed.
    publishChanges()
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
