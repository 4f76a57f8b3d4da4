import ObjectModel

/// The state that an in-memory store had when a reader was made.
final class InMemorySnapshot: StoreSnapshot {
  private let reader: InMemoryReader

  init(_ reader: InMemoryReader) { self.reader = reader }

  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try body(reader) }
}

/// Reads the state that an in-memory store had when the reader was made.
struct InMemoryReader: StoreReader, Sendable {
  let tables: [InMemoryState.Table]
  let links: [InMemoryLinks]
  let model: ManagedObjectModel

  func row(for id: ManagedObjectID) throws(StoreError) -> StoredRow? { tables[Int(id.rootIndex)][id.key] }

  func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [StoredRow?] {
    ids.map { tables[Int($0.rootIndex)][$0.key] }
  }

  func links(of id: ManagedObjectID, _ property: Property, limit: Int?) throws(StoreError) -> [Link] {
    guard let table = property.joinTable, let destination = property.destination else { return [] }
    let found = links[table.index].links(of: id.key, isLeft: property.isLeftEnd).compactMap { key, order -> Link? in
      guard let row = tables[destination.root.index][key] else { return nil }
      let entity = model.entities[Int(row.row.entityIndex)]
      let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: id.coordinatorOrdinal)
      return Link(destination: id, order: order)
    }
    guard let limit else { return found }
    let sorted = found.sorted { ($0.order ?? .min, $0.destination.key) < ($1.order ?? .min, $1.destination.key) }
    return Array(sorted.prefix(limit))
  }

  /// Cost: a pass over the family's rows, and sorting those that match.
  func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
    for (id, row) in try matches(query) { if try !body(id, query.wantsRows ? row : nil) { return } }
  }

  func count(_ query: StoreQuery) throws -> Int { try matches(query).count }

  private func matches(_ query: StoreQuery) throws -> ArraySlice<(id: ManagedObjectID, row: StoredRow)> {
    let related: (ManagedObjectID) throws -> Row? = { try row(for: $0)?.row }
    let index = InMemoryToMany(self)
    let evaluator = try query.condition.map {
      try ConditionEvaluator(
        $0, entity: query.entity,
        related: RelatedObjects(row: related, destinations: index.destinations)
          .stoppingWhenCancelled(query.isCancellable))
    }
    var matches: [(id: ManagedObjectID, row: StoredRow)] = []
    for (key, row) in tables[query.entity.root.index] {
      if query.isCancellable { try Task.checkCancellation() }
      let entity = model.entities[Int(row.row.entityIndex)]
      guard query.includesSubentities ? entity.isKind(of: query.entity) : entity === query.entity else { continue }
      let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: query.coordinatorOrdinal)
      if try evaluator?.matches(id: id, row: row.row) ?? true { matches.append((id, row)) }
    }
    let comparator = try RowComparator(query.sortDescriptors, entity: query.entity, related: related)
    try matches.sort { try comparator.areInIncreasingOrder(($0.id, $0.row.row), ($1.id, $1.row.row)) }
    return matches.dropFirst(max(0, query.offset)).prefix(query.limit.map { max(0, $0) } ?? .max)
  }
}

/// Finds the destinations of to-many relationships for one query: each relationship is looked through once.
final class InMemoryToMany {
  private let reader: InMemoryReader
  /// Destinations by owner's key, by the relationship that leads back.
  private var found: [ObjectIdentifier: [Int64: [RelatedObjects.Object]]] = [:]

  init(_ reader: InMemoryReader) { self.reader = reader }

  func destinations(of owner: ManagedObjectID, _ property: Property) throws -> [RelatedObjects.Object] {
    if property.joinTable != nil {
      return try reader.links(of: owner, property).compactMap { link in
        try reader.row(for: link.destination).map { (link.destination, $0.row) }
      }
    }
    guard let inverse = property.inverse, let destination = property.destination else { return [] }
    if let known = found[ObjectIdentifier(inverse)] { return known[owner.key] ?? [] }
    var byOwner: [Int64: [RelatedObjects.Object]] = [:]
    for (key, stored) in reader.tables[destination.root.index] {
      let row = stored.row
      let entity = reader.model.entities[Int(row.entityIndex)]
      guard entity.isKind(of: destination), let target = row.referenceIfPresent(inverse.slot) else { continue }
      let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: owner.coordinatorOrdinal)
      byOwner[target.key, default: []].append((id, row))
    }
    found[ObjectIdentifier(inverse)] = byOwner
    return byOwner[owner.key] ?? []
  }
}
