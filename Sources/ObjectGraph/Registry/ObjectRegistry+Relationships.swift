import ObjectModel

extension ObjectRegistry {
  /// Sets a to-one relationship and its inverse, and clears those that it replaces.
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
      if let order = property.orderProperty {
        // An object added from this end comes last.
        if destination == nil {
          object.row.setNull(order.slot)
        } else {
          object.row.setInteger(coordinator.drawOrder(), order.slot)
        }
      }
      // Relationships that were not loaded are fetched when they are read.
      if let old = oldID.flatMap(registeredObject) {
        old.toMany?[inverse.slot]?.remove(object.objectID)
        noteRelationshipChange(of: old, inverse.slot, firesFault: false)
      }
      if let destination {
        knowToMany(of: destination, inverse)
        destination.toMany?[inverse.slot]?.append(object.objectID)
        noteRelationshipChange(of: destination, inverse.slot, firesFault: true)
      }
    } else {
      if let oldID { clear(inverse.slot, of: self.object(with: oldID), leadingTo: object) }
      if let destination { take(destination, inverse.slot, for: object, slot) }
    }
  }

  /// Relates a destination to its new owner; the previous owner loses it.
  func take(_ destination: ManagedObject, _ inverseSlot: Int, for owner: ManagedObject, _ slot: Int) {
    if let previousID = destination.readable.referenceIfPresent(inverseSlot), previousID != owner.objectID {
      clear(slot, of: self.object(with: previousID), leadingTo: destination)
    }
    write(destination, inverseSlot, owner)
  }

  /// Sets a to-one relationship to nil if it leads to that object.
  func clear(_ slot: Int, of object: ManagedObject, leadingTo destination: ManagedObject) {
    if !object.isDeleted, object.readable.referenceIfPresent(slot) == destination.objectID {
      write(object, slot, nil)
    }
  }

  func check(_ destination: ManagedObject, _ property: Property) {
    precondition(
      destination.registry === self,
      "\(property.name) can't lead from \"\(context.name)\" to an object of another context; use object(with:)")
    if let entity = property.destination {
      precondition(
        destination.entity.isKind(of: entity),
        "\(property.name) leads to \(entity.name), not to \(destination.entity.name)")
    }
  }

  /// Marks an object as updated because one of its to-many relationships has changed.
  ///
  /// - Parameter firesFault: true to realize the object for it.
  func noteRelationshipChange(of object: ManagedObject, _ slot: Int, firesFault: Bool) {
    if !object.isDeleted { changedToMany[object.objectID, default: []].insert(slot) }
    if object.state.contains(.touched) || object.isDeleted { return }
    if object.isFault && !object.hasRow && !firesFault { return }
    // The change itself is recorded elsewhere; an unreadable object can't be shown as updated.
    guard (try? realize(object)) == true else { return }
    touch(object)
  }

  private func write(_ object: ManagedObject, _ slot: Int, _ destination: ManagedObject?) {
    object.willChange(slot)
    if let destination { object.row.setReference(destination.objectID, slot) } else { object.row.setNull(slot) }
  }
}
