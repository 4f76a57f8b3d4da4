import ObjectModel

extension ObjectRegistry {
  /// Returns the IDs of a to-many relationship's destinations: one fetch, then cached.
  func toManyIDs(of object: ManagedObject, _ slot: Int) -> Set<ManagedObjectID> {
    checkExecutor()
    knowToMany(of: object, object.entity.properties[slot])
    if let cache = object.toMany?[slot], cache.generation == relationshipGeneration { return cache.ids }
    return Set(loadDestinations(of: object, slot))
  }

  /// Returns the same IDs in their order, which is that of the keys if the relationship is not ordered.
  func sequence(of object: ManagedObject, _ slot: Int) -> [ManagedObjectID] {
    checkExecutor()
    knowToMany(of: object, object.entity.properties[slot])
    if let cache = object.toMany?[slot], cache.generation == relationshipGeneration {
      return object.entity.properties[slot].isOrdered ? cache.sequence : Array(cache.ids)
    }
    return loadDestinations(of: object, slot)
  }

  /// Starts an empty cache of the destinations of a new object, since nothing refers to it yet.
  ///
  /// Looking for them would take a pass over all pending changes for each new object. Must be called before the first
  /// destination is added; it helps until relationships are changed from outside.
  func knowToMany(of object: ManagedObject, _ property: Property) {
    guard object.birthGeneration == birthGeneration, object.isInserted, object.toMany?[property.slot] == nil else {
      return
    }
    object.toMany = object.toMany ?? [:]
    object.toMany?[property.slot] = ToManyCache(
      ids: [], generation: relationshipGeneration, isOrdered: property.isOrdered)
  }

  /// True if the destinations of a to-many relationship would have to be fetched.
  func mustLoadDestinations(of object: ManagedObject, _ property: Property) -> Bool {
    knowToMany(of: object, property)
    return object.toMany?[property.slot]?.generation != relationshipGeneration
  }

  /// Returns the destinations' IDs without caching them.
  func destinationIDs(of object: ManagedObject, _ property: Property) -> [ManagedObjectID] {
    checkExecutor()
    if !mustLoadDestinations(of: object, property) { return sequence(of: object, property.slot) }
    return findDestinations(of: object, property) ?? []
  }

  private func loadDestinations(of object: ManagedObject, _ slot: Int) -> [ManagedObjectID] {
    let property = object.entity.properties[slot]
    guard let ids = findDestinations(of: object, property) else { return [] }
    let cache = ToManyCache(ids: ids, generation: relationshipGeneration, isOrdered: property.isOrdered)
    object.toMany = object.toMany ?? [:]
    object.toMany?[slot] = cache
    return ids
  }

  /// Fetches the destinations, pending changes included; nil if that fails, and then the next save throws the error.
  private func findDestinations(of object: ManagedObject, _ property: Property) -> [ManagedObjectID]? {
    guard let destination = property.destination else { return nil }
    // The fetch must see this event's changes.
    publishChanges()
    do {
      var query = FetchQuery(entity: destination)
      if property.joinTable == nil {
        guard let inverse = property.inverse else { return nil }
        query.condition = .compare(.keyPath([inverse.name]), .equal, .object(object.objectID), [])
        if property.isOrdered, let order = inverse.orderProperty {
          query.sorts = [ResolvedSort(keyPath: [order.name], isAscending: true)]
        }
      }
      return try FetchExecution(self, query).destinations(of: object.objectID, property)
    } catch {
      noteFaultFailure(error)
      return nil
    }
  }

  // MARK: Changing

  /// Adds a destination, at the end if there is an order; an existing one keeps its place.
  func add(_ destination: ManagedObject, to object: ManagedObject, _ slot: Int) {
    let property = object.entity.properties[slot]
    precondition(object.registry === self, "\(object) is of another context than \"\(context.name)\"")
    check(destination, property)
    if property.joinTable != nil {
      setLink(object, property, destination, isPresent: true)
    } else if let inverse = property.inverse {
      setToOne(of: destination, inverse.slot, to: object)
    }
  }

  func remove(_ destination: ManagedObject, from object: ManagedObject, _ slot: Int) {
    let property = object.entity.properties[slot]
    if property.joinTable != nil {
      check(destination, property)
      setLink(object, property, destination, isPresent: false)
    } else if let inverse = property.inverse,
      destination.readable.referenceIfPresent(inverse.slot) == object.objectID
    {
      setToOne(of: destination, inverse.slot, to: nil)
    }
  }

  /// Replaces the destinations of a to-many relationship, in this order if it has one.
  func setDestinations(of object: ManagedObject, _ slot: Int, to destinations: [ManagedObject]) {
    let property = object.entity.properties[slot]
    // Links to objects that this event has deleted still exist.
    let present =
      deletes.isEmpty || property.joinTable == nil
      ? toManyIDs(of: object, slot) : Set(linkedObjects(of: object, property).map(\.objectID))
    var wanted: Set<ManagedObjectID> = []
    let destinations = destinations.filter { wanted.insert($0.objectID).inserted }
    for id in present where !wanted.contains(id) { remove(self.object(with: id), from: object, slot) }
    for destination in destinations where !present.contains(destination.objectID) {
      add(destination, to: object, slot)
    }
    if property.isOrdered { order(destinations, of: object, property) }
  }

  /// Orders the present destinations, changing as few of them as possible.
  private func order(_ destinations: [ManagedObject], of object: ManagedObject, _ property: Property) {
    let ids = destinations.map(\.objectID)
    if sequence(of: object, property.slot) == ids { return }
    let numbers = orderNumbers(of: object, property, destinations)
    let renewed = OrderNumbers.renewed(numbers) { coordinator.drawOrder() }
    for (index, destination) in destinations.enumerated() where numbers[index] != renewed[index] {
      if let table = property.joinTable {
        setOrder(renewed[index], of: destination, for: object, property, table)
      } else if let order = property.inverse?.orderProperty {
        destination.willChange(order.slot)
        destination.row.setInteger(renewed[index], order.slot)
      }
    }
    object.toMany = object.toMany ?? [:]
    object.toMany?[property.slot] = ToManyCache(ids: ids, generation: relationshipGeneration, isOrdered: true)
    noteRelationshipChange(of: object, property.slot, firesFault: true)
  }

  private func orderNumbers(
    of object: ManagedObject, _ property: Property, _ destinations: [ManagedObject]
  ) -> [Int64?] {
    if let order = property.inverse?.orderProperty {
      return destinations.map { $0.readable.isNull(order.slot) ? nil : $0.row.integer(order.slot) }
    }
    publishChanges()
    do {
      let links = try FetchExecution(self, FetchQuery(entity: object.entity)).links(of: object.objectID, property)
      let numbers = Dictionary(links.map { ($0.destination, $0.order) }) { first, _ in first }
      return destinations.map { numbers[$0.objectID] ?? nil }
    } catch {
      noteFaultFailure(error)
      return destinations.map { _ in nil }
    }
  }
}
