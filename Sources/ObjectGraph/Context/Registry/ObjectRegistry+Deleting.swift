import ObjectModel

extension ObjectRegistry {
  /// Marks an object for deletion; the delete rules are applied at the end of the event.
  func delete(_ object: ManagedObject) {
    checkExecutor()
    precondition(
      object.registry === self,
      object.registry == nil
        ? "\(object) no longer belongs to a context and can't be deleted"
        : "\(object) belongs to another context than \"\(context.name)\"")
    if object.isDeleted { return }
    if object.isFault { fire(object) }
    // Another context has deleted it already.
    if object.state.contains(.inaccessible) { return }
    touch(object)
    object.state.insert(.deleted)
    queueDelete(of: object)
    object.prepareForDeletion()
  }

  /// Applies the delete rules of all objects deleted in this event, and of those deleted by a cascade.
  func propagateDeletes() {
    if !hasQueuedDeletes { return }
    // Owners of relationships without an inverse are not known here.
    if coordinator.model.joinTables.contains(where: { $0.inverse == nil }) { relationships.invalidateCaches() }
    while let object = popDelete() {
      for property in object.entity.properties {
        guard let relationship = property.relationship else { continue }
        switch relationship.deleteRule {
        case .noAction where object.isInserted, .deny where object.isInserted:
          // The delete of an object that was never saved is not validated: it just leaves, and no set may keep it.
          nullifyInverses(of: object, property, linkedObjects(of: object, property))
        case .noAction, .deny:
          // A denied delete must find its destinations again, so only caches are cleared.
          if property.storage == .reference { forgetInCachedInverse(object, property) }
          if property.joinTable != nil { relationships.invalidateCaches() }
        case .nullify, .cascade:
          let destinations = linkedObjects(of: object, property)
          if relationship.deleteRule == .cascade { destinations.forEach(delete) }
          nullifyInverses(of: object, property, destinations)
        }
      }
    }
  }

  private func forgetInCachedInverse(_ object: ManagedObject, _ property: Property) {
    guard let inverse = property.inverse, inverse.storage == .toMany,
      let id = object.readable.referenceIfPresent(property.slot), let destination = registeredObject(for: id)
    else { return }
    destination.toMany?[inverse.slot]?.remove(object.objectID)
    noteRelationshipChange(of: destination, inverse.slot, firesFault: false)
  }

  /// Returns an error for each relationship of a deleted object that denies the delete.
  func denials(of object: ManagedObject) -> [any Error] {
    object.entity.properties.filter { $0.relationship?.deleteRule == .deny }.compactMap { property in
      // An object deleted elsewhere meanwhile is no longer a destination; one that can't be read still is.
      let remaining = destinations(of: object, property).filter { !$0.isDeleted && (try? realize($0)) != false }.count
      if remaining == 0 { return nil }
      return ValidationError.deniedDelete(of: object.objectID, object.entity, by: property, count: remaining)
    }
  }

  private func destinations(of object: ManagedObject, _ property: Property) -> [ManagedObject] {
    property.storage == .toMany
      ? object.destinations(property.slot) : object.destination(property.slot).map { [$0] } ?? []
  }

  /// Returns the destinations of a relationship; for links, also those deleted earlier in the same propagation.
  func linkedObjects(of object: ManagedObject, _ property: Property) -> [ManagedObject] {
    if property.joinTable == nil || object.toMany?[property.slot]?.generation == relationships.generation {
      return destinations(of: object, property)
    }
    return linkedIDs(of: object, property).map { self.object(with: $0) }
  }

  /// Returns the objects that links of an object lead to, those included whose delete is pending here.
  func linkedIDs(of object: ManagedObject, _ property: Property) -> [ManagedObjectID] {
    publishChanges()
    do {
      let execution = FetchExecution(self, FetchQuery(entity: object.entity))
      let links = try execution.links(of: object.objectID, property, includingDeleted: true)
      // An object that was deleted in an ancestor counts only if it has changes here.
      return links.map(\.destination).filter { id in
        pending.currentChange(of: id) != nil || ancestorsChange(of: id)?.kind != .delete
      }
    } catch {
      failures.note(error)
      return []
    }
  }

  /// Clears the inverses that lead to a deleted object, so that nothing refers to it after the save.
  private func nullifyInverses(of object: ManagedObject, _ property: Property, _ destinations: [ManagedObject]) {
    if property.joinTable != nil {
      for destination in destinations { setLink(object, property, to: destination, isPresent: false) }
      return
    }
    guard let inverse = property.inverse else { return }
    for destination in destinations where !destination.isDeleted {
      if inverse.storage == .toMany {
        destination.toMany?[inverse.slot]?.remove(object.objectID)
        noteRelationshipChange(of: destination, inverse.slot, firesFault: false)
      } else if destination.readable.referenceIfPresent(inverse.slot) == object.objectID {
        destination.willChange(inverse.slot)
        destination.row.setNull(inverse.slot)
        if let order = inverse.orderProperty { destination.row.setNull(order.slot) }
      }
    }
  }
}
