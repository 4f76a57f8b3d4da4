import ObjectModel

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
