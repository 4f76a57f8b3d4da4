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
    write(object, slot, to: destination)
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
      if let destination { relate(destination, inverse.slot, to: object, by: slot) }
    }
  }

  /// Relates a destination to its new owner; the previous owner loses it.
  func relate(_ destination: ManagedObject, _ inverseSlot: Int, to owner: ManagedObject, by slot: Int) {
    if let previousID = destination.readable.referenceIfPresent(inverseSlot), previousID != owner.objectID {
      clear(slot, of: self.object(with: previousID), leadingTo: destination)
    }
    write(destination, inverseSlot, to: owner)
  }

  /// Sets a to-one relationship to nil if it leads to that object.
  func clear(_ slot: Int, of object: ManagedObject, leadingTo destination: ManagedObject) {
    if !object.isDeleted, object.readable.referenceIfPresent(slot) == destination.objectID {
      write(object, slot, to: nil)
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
    if !object.isDeleted { relationships.noteChange(of: object.objectID, slot) }
    if object.state.contains(.touched) || object.isDeleted { return }
    if object.isFault && !object.hasRow && !firesFault { return }
    // The change itself is recorded elsewhere; an unreadable object can't be shown as updated.
    guard (try? realize(object)) == true else { return }
    touch(object)
  }

  private func write(_ object: ManagedObject, _ slot: Int, to destination: ManagedObject?) {
    object.willChange(slot)
    if let destination { object.row.setReference(destination.objectID, slot) } else { object.row.setNull(slot) }
  }
}

extension ObjectRegistry {
  /// Returns the IDs of a to-many relationship's destinations: one fetch, then cached.
  func toManyIDs(of object: ManagedObject, _ slot: Int) -> Set<ManagedObjectID> {
    checkExecutor()
    knowToMany(of: object, object.entity.properties[slot])
    if let cache = object.toMany?[slot], cache.generation == relationships.generation { return cache.ids }
    return Set(loadDestinations(of: object, slot))
  }

  /// Returns the same IDs in their order, which is that of the keys if the relationship is not ordered.
  func sequence(of object: ManagedObject, _ slot: Int) -> [ManagedObjectID] {
    checkExecutor()
    knowToMany(of: object, object.entity.properties[slot])
    if let cache = object.toMany?[slot], cache.generation == relationships.generation {
      return object.entity.properties[slot].isOrdered ? cache.sequence : Array(cache.ids)
    }
    return loadDestinations(of: object, slot)
  }

  /// Starts an empty cache of the destinations of a new object, since nothing refers to it yet.
  ///
  /// Looking for them would take a pass over all pending changes for each new object. Must be called before the first
  /// destination is added; it helps until relationships are changed from outside.
  func knowToMany(of object: ManagedObject, _ property: Property) {
    guard object.birthGeneration == relationships.birthGeneration, object.isInserted,
      object.toMany?[property.slot] == nil
    else { return }
    object.toMany = object.toMany ?? [:]
    object.toMany?[property.slot] = ToManyCache(
      ids: [], generation: relationships.generation, isOrdered: property.isOrdered)
  }

  /// True if the destinations of a to-many relationship would have to be fetched.
  func mustLoadDestinations(of object: ManagedObject, _ property: Property) -> Bool {
    knowToMany(of: object, property)
    return object.toMany?[property.slot]?.generation != relationships.generation
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
    let cache = ToManyCache(ids: ids, generation: relationships.generation, isOrdered: property.isOrdered)
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
        query.condition = .leads(inverse, to: object.objectID)
        if property.isOrdered, let order = inverse.orderProperty {
          query.sorts = [ResolvedSort(keyPath: [order.name], isAscending: true)]
        }
      }
      return try FetchExecution(self, query).destinations(of: object.objectID, property)
    } catch {
      failures.note(error)
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
      setLink(object, property, to: destination, isPresent: true)
    } else if let inverse = property.inverse {
      setToOne(of: destination, inverse.slot, to: object)
    }
  }

  func remove(_ destination: ManagedObject, from object: ManagedObject, _ slot: Int) {
    let property = object.entity.properties[slot]
    if property.joinTable != nil {
      check(destination, property)
      setLink(object, property, to: destination, isPresent: false)
    } else if let inverse = property.inverse,
      destination.readable.referenceIfPresent(inverse.slot) == object.objectID
    {
      setToOne(of: destination, inverse.slot, to: nil)
    }
  }

  /// Replaces the destinations of a to-many relationship, in this order if it has one.
  func setDestinations(of object: ManagedObject, _ slot: Int, to destinations: [ManagedObject]) {
    let property = object.entity.properties[slot]
    let present = replaceableDestinations(of: object, property)
    var wanted: Set<ManagedObjectID> = []
    let destinations = destinations.filter { wanted.insert($0.objectID).inserted }
    for id in present where !wanted.contains(id) { remove(self.object(with: id), from: object, slot) }
    for destination in destinations where !present.contains(destination.objectID) {
      add(destination, to: object, slot)
    }
    if property.isOrdered { order(destinations, of: object, property) }
  }

  /// Returns the destinations that a new value of a relationship replaces, whether it was read before or not: those that
  /// this event has deleted are among them, and those that are still linked after an earlier one.
  private func replaceableDestinations(of object: ManagedObject, _ property: Property) -> Set<ManagedObjectID> {
    var present = toManyIDs(of: object, property.slot)
    if property.joinTable != nil {
      if !hasQueuedDeletes && !pending.hasCurrentDeletes { return present }
      return present.union(linkedIDs(of: object, property).filter(pending.isCurrentlyGone))
    }
    guard let inverse = property.inverse, let entity = property.destination else { return present }
    for deleted in queuedDeletes where deleted.entity.isKind(of: entity) {
      if deleted.readable.referenceIfPresent(inverse.slot) == object.objectID { present.insert(deleted.objectID) }
    }
    return present
  }

  /// Orders the present destinations, changing as few of them as possible.
  private func order(_ destinations: [ManagedObject], of object: ManagedObject, _ property: Property) {
    let ids = destinations.map(\.objectID)
    if sequence(of: object, property.slot) == ids { return }
    let numbers = orderNumbers(of: object, property, destinations)
    let renewed = OrderNumbers.renewed(numbers) { coordinator.drawOrder() }
    for (index, destination) in destinations.enumerated() where numbers[index] != renewed[index] {
      if let table = property.joinTable {
        setOrder(renewed[index], of: destination, for: object, in: property, table: table)
      } else if let order = property.inverse?.orderProperty {
        destination.willChange(order.slot)
        destination.row.setInteger(renewed[index], order.slot)
      }
    }
    object.toMany = object.toMany ?? [:]
    object.toMany?[property.slot] = ToManyCache(ids: ids, generation: relationships.generation, isOrdered: true)
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
      failures.note(error)
      return destinations.map { _ in nil }
    }
  }
}

extension ObjectRegistry {
  /// Adds or removes a link of a many-to-many relationship at both ends.
  func setLink(_ object: ManagedObject, _ property: Property, to destination: ManagedObject, isPresent: Bool) {
    checkExecutor()
    guard let table = property.joinTable else { return }
    var orders: (own: Int64?, inverse: Int64?)
    if isPresent, table.isOrdered || table.isInverseOrdered {
      // An existing link keeps its place.
      if toManyIDs(of: object, property.slot).contains(destination.objectID) { return }
      if property.isOrdered { orders.own = coordinator.drawOrder() }
      if property.inverse?.isOrdered == true { orders.inverse = coordinator.drawOrder() }
    }
    note(
      object, property, to: destination, table: table, isPresent: isPresent, order: orders.own,
      inverseOrder: orders.inverse)
    noteLink(of: object, property, to: destination, isPresent: isPresent)
    if let inverse = property.inverse { noteLink(of: destination, inverse, to: object, isPresent: isPresent) }
  }

  /// Notes a changed link at one of its ends. What a fetch would not find is not shown from memory either.
  private func noteLink(
    of object: ManagedObject, _ property: Property, to destination: ManagedObject, isPresent: Bool
  ) {
    knowToMany(of: object, property)
    object.toMany?[property.slot]?.set(destination.objectID, isPresent: isPresent && isFindable(destination))
    noteRelationshipChange(of: object, property.slot, firesFault: isPresent)
  }

  /// False if an object was taken back or deleted above, and nothing but relationships of it has changed here.
  private func isFindable(_ object: ManagedObject) -> Bool {
    if object.isInserted || hasUnpublishedValues(object) { return true }
    let change = pending.currentChange(of: object.objectID) ?? ancestorsChange(of: object.objectID)
    return change.map { $0.row != nil } ?? !coordinator.keys.isTemporary(object.objectID)
  }

  /// Sets the place of a destination that is linked.
  func setOrder(
    _ order: Int64, of destination: ManagedObject, for object: ManagedObject, in property: Property, table: JoinTable
  ) {
    note(
      object, property, to: destination, table: table, isPresent: true, order: order, inverseOrder: nil,
      isTwinned: false)
  }

  private func note(
    _ object: ManagedObject, _ property: Property, to destination: ManagedObject, table: JoinTable, isPresent: Bool,
    order: Int64?, inverseOrder: Int64?, isTwinned: Bool = true
  ) {
    let changes = LinkChange.changes(
      table, of: property, from: object.objectID, to: destination.objectID, isPresent: isPresent, order: order,
      inverseOrder: inverseOrder)
    for change in isTwinned ? changes : Array(changes.prefix(1)) { record(change) }
  }

  private func record(_ change: LinkChange) {
    undo.noteLink(change.key, in: self)
    relationships.record(change)
  }
}

/// The cached destinations of a to-many relationship, valid until they are changed from outside.
struct ToManyCache {
  private(set) var ids: Set<ManagedObjectID>
  /// The same in their order, if they have one.
  private(set) var sequence: [ManagedObjectID]
  /// The registry's generation in which the IDs were found.
  var generation: Int
  private let isOrdered: Bool

  init(ids: some Collection<ManagedObjectID>, generation: Int, isOrdered: Bool = false) {
    self.ids = Set(ids)
    self.generation = generation
    self.isOrdered = isOrdered
    sequence = isOrdered ? Array(ids) : []
  }

  /// Adds a destination at the end.
  mutating func append(_ id: ManagedObjectID) {
    if ids.insert(id).inserted, isOrdered { sequence.append(id) }
  }

  mutating func remove(_ id: ManagedObjectID) {
    if ids.remove(id) != nil, isOrdered { sequence.removeAll { $0 == id } }
  }

  mutating func set(_ id: ManagedObjectID, isPresent: Bool) {
    if isPresent { append(id) } else { remove(id) }
  }
}
