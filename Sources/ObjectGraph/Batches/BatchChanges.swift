import ObjectModel

/// The changes of one chunk of a batch request: its own objects, and those that relationships make change with them.
struct BatchChanges {
  private let coordinator: PersistentStoreCoordinator
  private let transaction: any StoreTransaction
  private var order: [ManagedObjectID] = []
  private var changes: [ManagedObjectID: RowChange] = [:]
  private var links: [LinkKey: LinkChange] = [:]

  init(_ coordinator: PersistentStoreCoordinator, _ transaction: any StoreTransaction) {
    self.coordinator = coordinator
    self.transaction = transaction
  }

  var changeSet: ChangeSet { ChangeSet(order.compactMap { changes[$0] }, links: Array(links.values)) }

  mutating func insert(_ id: ManagedObjectID, _ row: Row) {
    order.append(id)
    changes[id] = RowChange(.insert, id, row: row, base: nil)
  }

  mutating func delete(_ id: ManagedObjectID, _ row: Row) {
    if changes[id] == nil { order.append(id) }
    changes[id] = RowChange(.delete, id, row: nil, base: changes[id]?.base ?? row)
  }

  /// Changes the row of an object that is stored, or of this chunk.
  ///
  /// - Parameter stored: its row, if it is known.
  /// - Throws: ``ObjectNotFound`` if there is no such row.
  mutating func update(_ id: ManagedObjectID, stored: Row? = nil, _ body: (inout Row) throws -> Void) throws {
    if var change = changes[id] {
      guard var row = change.row else { return }
      // Let go of, so that the row is written in place.
      change.row = nil
      changes[id] = change
      try body(&row)
      change.row = row
      changes[id] = change
      return
    }
    let base = try stored ?? self.row(of: id)
    var row = base
    try body(&row)
    order.append(id)
    changes[id] = RowChange(.update, id, row: row, base: base)
  }

  /// The values of an object as they will be.
  private func row(of id: ManagedObjectID) throws -> Row {
    if let change = changes[id], let row = change.row { return row }
    guard changes[id] == nil, let row = try transaction.row(for: id)?.row else { throw ObjectNotFound(objectID: id) }
    return row
  }

  /// - Throws: ``ValidationError`` that names a required property without a value.
  func checkRequired(_ entity: Entity, _ id: ManagedObjectID) throws {
    let row = try row(of: id)
    for property in entity.properties where property.isPersistent && !property.isOptional && row.isNull(property.slot) {
      if property.attribute?.derivation == nil { throw ValidationError.missing(property, of: id, entity) }
    }
  }
}

// MARK: - Relationships

extension BatchChanges {
  /// Gives a relationship destinations: at most one if it is to-one; those of a to-many one are added.
  ///
  /// - Throws: ``ConditionError`` for an object that the relationship can't lead to, ``ObjectNotFound`` for one that
  ///   is not stored.
  mutating func set(_ property: Property, of id: ManagedObjectID, to destinations: [ManagedObjectID]) throws {
    for destination in destinations { try check(destination, property) }
    if property.storage == .reference { return try setToOne(property, of: id, to: destinations.first) }
    for destination in destinations {
      if let table = property.joinTable {
        let order = property.isOrdered ? coordinator.drawOrder() : nil
        let inverseOrder = property.inverse?.isOrdered == true ? coordinator.drawOrder() : nil
        for link in LinkChange.changes(
          table, of: property, from: id, to: destination, isPresent: true, order: order, inverseOrder: inverseOrder)
        { links[link.key] = link }
      } else if let inverse = property.inverse {
        try setToOne(inverse, of: destination, to: id)
      }
    }
  }

  private mutating func setToOne(
    _ property: Property, of id: ManagedObjectID, to destination: ManagedObjectID?
  ) throws {
    let old = try row(of: id).referenceIfPresent(property.slot)
    if old == destination { return }
    let place = destination == nil ? nil : property.orderProperty.map { _ in coordinator.drawOrder() }
    try update(id) { row in
      row.setDestination(destination, property)
      if let order = property.orderProperty {
        if let place { row.setInteger(place, order.slot) } else { row.setNull(order.slot) }
      }
    }
    // Both ends of a one-to-one relationship are columns.
    guard let inverse = property.inverse, inverse.storage == .reference else { return }
    if let old { try clear(inverse, of: old, leadingTo: id) }
    guard let destination else { return }
    if let owner = try row(of: destination).referenceIfPresent(inverse.slot), owner != id {
      try clear(property, of: owner, leadingTo: destination)
    }
    try update(destination) { $0.setReference(id, inverse.slot) }
  }

  private mutating func clear(
    _ property: Property, of id: ManagedObjectID, leadingTo destination: ManagedObjectID
  ) throws {
    guard changes[id]?.kind != .delete, let row = try changes[id]?.row ?? transaction.row(for: id)?.row,
      row.referenceIfPresent(property.slot) == destination
    else { return }
    try update(id, stored: row) { $0.setNull(property.slot) }
  }

  /// Removes the links of an object that is deleted, so that those at their other ends show it.
  mutating func removeLinks(of id: ManagedObjectID, _ property: Property) throws {
    guard let table = property.joinTable else { return }
    for link in try transaction.links(of: id, property) {
      for change in LinkChange.changes(table, of: property, from: id, to: link.destination, isPresent: false) {
        links[change.key] = change
      }
    }
  }

  private func check(_ id: ManagedObjectID, _ property: Property) throws {
    guard let destination = property.destination else { return }
    guard id.coordinatorOrdinal == coordinator.ordinal,
      coordinator.model.entities[Int(id.entityIndex)].isKind(of: destination)
    else {
      throw ConditionError(
        .typeMismatch, "\(property.name) leads to \(destination.name), not to \(id)", fragment: property.name)
    }
    _ = try row(of: id)
  }
}

extension Row {
  fileprivate mutating func setDestination(_ id: ManagedObjectID?, _ property: Property) {
    if let id { setReference(id, property.slot) } else { setNull(property.slot) }
  }
}
