import ObjectModel

/// Finds the uniqueness constraints that changes violate, after a store has refused them. Packed rows excepted.
///
/// Cost: a pass over the changes of each constrained entity, and one look-up per distinct value.
struct ConstraintSearch {
  /// A violated constraint with what is needed to resolve it.
  struct Violation {
    let report: ConstraintConflict
    /// The stored object that has the values already.
    let stored: (id: ManagedObjectID, row: Row)?
    let changes: [RowChange]
  }

  let coordinator: PersistentStoreCoordinator
  let sets: [ChangeSet]

  func find(_ reader: any StoreReader) throws -> [Violation] {
    let changed = Dictionary(
      sets.flatMap { $0.changes.map { ($0.id, $0) } }, uniquingKeysWith: { $1 })
    var violations: [Violation] = []
    for entity in coordinator.model.entities {
      for properties in entity.entityDescription.uniquenessConstraints where !properties.isEmpty {
        violations += try find(entity, properties, changed: changed, reader: reader)
      }
    }
    return violations
  }

  private func find(
    _ entity: Entity, _ names: [String], changed: [ManagedObjectID: RowChange], reader: any StoreReader
  ) throws -> [Violation] {
    var order: [[Key]] = []
    var groups: [[Key]: [RowChange]] = [:]
    for set in sets {
      for change in set.changes {
        guard let row = change.row, let key = try key(of: row, names, in: entity) else { continue }
        if groups[key]?.append(change) == nil {
          groups[key] = [change]
          order.append(key)
        }
      }
    }
    return try order.compactMap { key in
      let group = groups[key] ?? []
      let stored = try holder(entity, names, key: key, reader: reader)
      // A stored object that is deleted or changed in this save counts with its new values.
      let holds = stored.map { stored in changed[stored.id] == nil || group.contains { $0.id == stored.id } } ?? false
      let others = group.filter { !holds || $0.id != stored?.id }
      if others.count + (holds ? 1 : 0) < 2 { return nil }
      let report = ConstraintConflict(
        entityName: entity.name, properties: names, values: key.map(\.value), storedObjectID: holds ? stored?.id : nil,
        conflictingObjectIDs: others.map(\.id))
      return Violation(report: report, stored: holds ? stored : nil, changes: group)
    }
  }

  /// One value of a constraint.
  private enum Key: Hashable {
    case attribute(Value)
    case reference(ManagedObjectID)

    var value: Value {
      switch self {
      case .attribute(let value): value
      case .reference(let id): id.uriRepresentation.map(Value.url) ?? .null
      }
    }
  }

  /// Returns a row's values of a constraint; nil if it is of another entity or one of the values is nil.
  ///
  /// - Throws: the file's read error, if a value is binary data in a file.
  private func key(of row: Row, _ names: [String], in constrained: Entity) throws -> [Key]? {
    let entity = coordinator.model.entities[Int(row.entityIndex)]
    guard entity.isKind(of: constrained) else { return nil }
    var key: [Key] = []
    for name in names {
      guard let property = entity.property(named: name), !row.isNull(property.slot) else { return nil }
      if let attribute = property.attribute {
        key.append(.attribute(try row.value(of: attribute, property.slot)))
      } else if property.storage == .reference {
        key.append(.reference(row.reference(property.slot)))
      }
    }
    return key
  }

  /// Returns the stored object that has these values.
  private func holder(
    _ entity: Entity, _ names: [String], key: [Key], reader: any StoreReader
  ) throws -> (id: ManagedObjectID, row: Row)? {
    let parts = zip(names, key).map { name, key in
      switch key {
      case .attribute(let value): Condition.compare(.keyPath([name]), .equal, .value(value), [])
      case .reference(let id): Condition.compare(.keyPath([name]), .equal, .object(id), [])
      }
    }
    var found: (id: ManagedObjectID, row: Row)?
    let query = StoreQuery(
      entity: entity, condition: try Condition.and(parts).resolved(for: entity), limit: 1,
      coordinatorOrdinal: coordinator.ordinal)
    try reader.fetch(query) { id, row in
      found = row.map { (id, $0.row) }
      return false
    }
    return found
  }
}
