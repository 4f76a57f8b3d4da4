import ObjectModel

extension ObjectRegistry {
  /// Reads the destinations of a path of relationships: one statement per relationship, none for objects in memory.
  func prefetch(_ path: PrefetchPath, for objects: [ManagedObject]) throws {
    var sources = objects
    for relationship in path.relationships {
      if sources.isEmpty { return }
      if relationship.storage == .reference {
        sources = try prefetchToOne(relationship, of: sources)
      } else if let inverse = relationship.inverse, inverse.storage == .reference {
        sources = try prefetchToMany(relationship, inverse, of: sources)
      } else {
        sources = sources.flatMap { $0.destinations(relationship.slot) }.unique
      }
    }
  }

  private func prefetchToOne(_ relationship: Property, of sources: [ManagedObject]) throws -> [ManagedObject] {
    let ids = try sources.compactMap { try knownRow(of: $0)?.referenceIfPresent(relationship.slot) }
    let destinations = ids.map { object(with: $0) }.unique
    let unread = destinations.filter(isUnread).map(\.objectID)
    if let entity = relationship.destination, !unread.isEmpty { _ = try related(entity, .isAny(of: unread)) }
    return destinations
  }

  private func prefetchToMany(
    _ relationship: Property, _ inverse: Property, of sources: [ManagedObject]
  ) throws -> [ManagedObject] {
    guard let entity = relationship.destination else { return [] }
    let slot = relationship.slot
    let isCurrent: (ManagedObject) -> Bool = { $0.toMany?[slot]?.generation == self.relationships.generation }
    let asking = sources.filter { !isCurrent($0) }
    let owners = asking.map(\.objectID)
    let order = relationship.isOrdered ? inverse.orderProperty : nil
    let found = owners.isEmpty ? [] : try related(entity, .leads(inverse, toAnyOf: owners), by: order)
    var ids: [ManagedObjectID: [ManagedObjectID]] = [:]
    for object in found {
      guard let owner = try knownRow(of: object)?.referenceIfPresent(inverse.slot) else { continue }
      ids[owner, default: []].append(object.objectID)
    }
    for object in asking {
      let cache = ToManyCache(
        ids: ids[object.objectID] ?? [], generation: relationships.generation, isOrdered: relationship.isOrdered)
      object.toMany = object.toMany ?? [:]
      object.toMany?[slot] = cache
    }
    return found + sources.filter(isCurrent).flatMap { $0.destinations(slot) }
  }

  private func related(
    _ entity: Entity, _ condition: Condition, by order: Property? = nil
  ) throws -> [ManagedObject] {
    var query = FetchQuery(entity: entity)
    if let order { query.sorts = [ResolvedSort(keyPath: [order.name], isAscending: true)] }
    query.condition = condition
    query.keepsAllRows = true
    return try FetchExecution(self, query).objects(as: ManagedObject.self)
  }

  /// Returns the object's row without realizing it.
  private func knownRow(of object: ManagedObject) throws -> Row? {
    object.isFault ? try freshestRow(ofFault: object) : object.row
  }
}

extension [ManagedObject] {
  fileprivate var unique: [ManagedObject] {
    var seen: Set<ManagedObjectID> = []
    return filter { seen.insert($0.objectID).inserted }
  }
}
