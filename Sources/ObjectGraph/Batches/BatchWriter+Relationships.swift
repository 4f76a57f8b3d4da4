import ObjectModel

extension BatchWriter {
  typealias Stored = (id: ManagedObjectID, row: Row)

  /// The rows of objects that are stored, of whatever entities.
  func rows(_ ids: some Sequence<ManagedObjectID>) throws -> [Stored] {
    var found: [ManagedObjectID: Row] = [:]
    for (_, family) in Dictionary(grouping: ids, by: \.rootIndex) {
      for (id, stored) in zip(family, try transaction.rows(for: family)) { found[id] = stored?.row }
    }
    return ids.compactMap { id in found[id].map { (id, $0) } }
  }

  /// Calls the body for each relationship that some objects' entities have and that is meant, with its owners.
  func forEachRelationship(
    _ ids: ArraySlice<ManagedObjectID>, where isMeant: (RelationshipDescription) -> Bool,
    _ body: (Entity, Property, [Stored]) throws -> Void
  ) throws {
    let entities = coordinator.model.entities
    for (index, owners) in Dictionary(grouping: try rows(ids), by: { $0.row.entityIndex }) {
      let entity = entities[Int(index)]
      for property in entity.properties {
        if let relationship = property.relationship, isMeant(relationship) { try body(entity, property, owners) }
      }
    }
  }

  /// The stored objects that a relationship of some objects leads to, by owner. Cost: one statement for many owners;
  /// one for each where links lie in a join table.
  func destinations(
    of owners: [Stored], _ property: Property
  ) throws -> [(owner: ManagedObjectID, destinations: [Stored])] {
    if property.joinTable != nil {
      return try owners.map { owner in
        (owner.id, try rows(try transaction.links(of: owner.id, property).map(\.destination)))
      }
    }
    if property.storage == .reference {
      let ids = owners.compactMap { $0.row.referenceIfPresent(property.slot) }
      let found = Dictionary(try rows(Set(ids)).map { ($0.id, $0) }) { first, _ in first }
      return owners.map { owner in
        (owner.id, owner.row.referenceIfPresent(property.slot).flatMap { found[$0] }.map { [$0] } ?? [])
      }
    }
    guard let inverse = property.inverse, let destination = property.destination else { return [] }
    var found: [ManagedObjectID: [Stored]] = [:]
    let condition = Condition.isIn(.keyPath([inverse.name]), owners.map { .object($0.id) }, [])
    let query = StoreQuery(
      entity: destination, condition: try condition.resolved(for: destination),
      coordinatorOrdinal: coordinator.ordinal)
    try transaction.fetch(query) { id, row in
      if let row = row?.row, let owner = row.referenceIfPresent(inverse.slot) {
        found[owner, default: []].append((id, row))
      }
      return true
    }
    return owners.map { ($0.id, found[$0.id] ?? []) }
  }
}
