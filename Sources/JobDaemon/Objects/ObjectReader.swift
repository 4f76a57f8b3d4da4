import Foundation
import ObjectGraph

/// An object as it is shown: its values, and those of the objects that it leads to, as far as they were asked for.
struct ShownObject {
  /// The objects of a to-many relationship, and whether there are more.
  typealias Destinations = (objects: [ShownObject], hasMore: Bool)

  let id: ManagedObjectID
  let entity: Entity
  let row: Row
  /// The destinations of expanded relationships, by name.
  var destination: [String: ShownObject] = [:]
  var destinations: [String: Destinations] = [:]

  fileprivate init(_ id: ManagedObjectID, _ row: Row, of model: ManagedObjectModel) {
    entity = model.entities[Int(row.entityIndex)]
    self.id = ManagedObjectID(key: id.key, entity: entity, coordinatorOrdinal: id.coordinatorOrdinal)
    self.row = row
  }
}

/// Reads objects from the store, each call one of its states; blocks, and ends early when its task is cancelled.
struct ObjectReader: Sendable {
  /// The bytes of rows that are read for a page; there is one more at most.
  private static let pageBytes = 1 << 20

  let query: ObjectQuery
  let coordinator: PersistentStoreCoordinator

  /// The number of objects that the query selects.
  func count() throws -> Int {
    try coordinator.openStore().read { try $0.count(storeQuery(after: nil, limit: nil)) }
  }

  /// An object by its key; nil if there is none of the entity.
  func object(_ key: Int64) throws -> ShownObject? {
    let id = ManagedObjectID(key: key, entity: query.entity, coordinatorOrdinal: coordinator.ordinal)
    return try coordinator.openStore().read { reader in
      guard let row = try reader.row(for: id)?.row else { return nil }
      let found = [ShownObject(id, row, of: coordinator.model)].filter { $0.entity.isKind(of: query.entity) }
      return try expanding(found, reader).first
    }
  }

  /// Reads objects behind a place, and passes them on until a closure returns false.
  ///
  /// - Parameters:
  ///   - position: the place; nil for the beginning.
  ///   - limit: the most objects. There may be fewer, if they are large.
  /// - Returns: the place from which to go on; nil if there are no more.
  func read(
    after position: ObjectPosition?, limit: Int, _ take: (ShownObject) throws -> Bool
  ) throws -> ObjectPosition? {
    try coordinator.openStore().read { reader in
      var found: [ShownObject] = []
      var bytes = 0
      var hasMore = false
      try reader.fetch(storeQuery(after: position, limit: limit + 1)) { id, stored in
        guard found.count < limit, bytes < Self.pageBytes else {
          hasMore = true
          return false
        }
        guard let row = stored?.row else { return true }
        bytes += row.byteCount
        found.append(ShownObject(id, row, of: coordinator.model))
        return true
      }
      var last: ShownObject?
      // A few at a time, since what they lead to may be much more.
      for start in stride(from: 0, to: found.count, by: 50) {
        for object in try expanding(Array(found[start..<min(start + 50, found.count)]), reader) {
          guard try take(object) else { return try last.map { try place(of: $0, reader) } ?? position }
          last = object
        }
      }
      return hasMore ? try last.map { try place(of: $0, reader) } : nil
    }
  }

  private func storeQuery(after position: ObjectPosition?, limit: Int?) throws -> StoreQuery {
    var conditions = query.condition.map { [$0] } ?? []
    if let position {
      let behind = position.condition(in: query, coordinatorOrdinal: coordinator.ordinal)
      conditions.append(try behind.resolved(for: query.entity))
    }
    return StoreQuery(
      entity: query.entity, condition: conditions.isEmpty ? nil : .and(conditions), sortDescriptors: query.sorts,
      limit: limit, coordinatorOrdinal: coordinator.ordinal, isCancellable: true)
  }

  /// The place of an object in the order of the query.
  private func place(of object: ShownObject, _ reader: any StoreReader) throws -> ObjectPosition {
    let values = try query.sorts.map { sort in
      let path = try sort.propertyPath(from: query.entity)
      var row = object.row
      for relationship in path.relationships {
        guard let next = row.referenceIfPresent(relationship.slot), let stored = try reader.row(for: next) else {
          return Value.null
        }
        row = stored.row
      }
      return try path.last.attribute.map { try row.value(of: $0, path.last.slot) } ?? .null
    }
    return ObjectPosition(values: values, key: object.id.key)
  }

  // MARK: Relationships

  private func expanding(_ objects: [ShownObject], _ reader: any StoreReader) throws -> [ShownObject] {
    var objects = objects
    for relationship in query.expanded {
      try Task.checkCancellation()
      // A descendant may lack what another has.
      let having = objects.indices.filter { objects[$0].entity.property(named: relationship.name) != nil }
      if relationship.storage == .toMany {
        for index in having {
          objects[index].destinations[relationship.name] = try destinations(of: objects[index], relationship, reader)
        }
        continue
      }
      let leading = having.compactMap { index in
        objects[index].row.referenceIfPresent(relationship.slot).map { (index, $0) }
      }
      for ((index, id), stored) in zip(leading, try reader.rows(for: leading.map(\.1))) {
        guard let row = stored?.row else { continue }
        objects[index].destination[relationship.name] = ShownObject(id, row, of: coordinator.model)
      }
    }
    return objects
  }

  private func destinations(
    of object: ShownObject, _ relationship: Property, _ reader: any StoreReader
  ) throws -> ShownObject.Destinations {
    guard let entity = relationship.destination else { return ([], false) }
    let limit = query.relatedLimit
    var found: [ShownObject] = []
    if relationship.joinTable != nil {
      let links = try reader.links(of: object.id, relationship, limit: limit + 1)
      let ids = links.prefix(limit).map(\.destination)
      for (id, stored) in zip(ids, try reader.rows(for: ids)) {
        if let row = stored?.row { found.append(ShownObject(id, row, of: coordinator.model)) }
      }
      return (found, links.count > limit)
    }
    guard let inverse = relationship.inverse else { return ([], false) }
    var query = StoreQuery(
      entity: entity, condition: try Condition.leads(inverse, to: object.id).resolved(for: entity), limit: limit + 1,
      coordinatorOrdinal: coordinator.ordinal, isCancellable: true)
    if let order = relationship.orderProperty {
      query.sortDescriptors = [ResolvedSort(keyPath: [order.name], isAscending: true)]
    }
    try reader.fetch(query) { id, stored in
      if let row = stored?.row { found.append(ShownObject(id, row, of: coordinator.model)) }
      return true
    }
    return (Array(found.prefix(limit)), found.count > limit)
  }
}
