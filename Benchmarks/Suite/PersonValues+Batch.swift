import ObjectGraph

extension PersonValues {
  /// A batch of the rows with these numbers, in columns.
  func batch(of rows: Range<Int>, for coordinator: PersistentStoreCoordinator) throws -> RowBatch {
    let entity = Person.entity(in: coordinator.model)
    return RowBatch(
      entity: entity, layout: coordinator.layouts[entity.index], coordinatorOrdinal: coordinator.ordinal,
      firstKey: try coordinator.drawKeys(for: entity, count: rows.count).lowerBound, count: rows.count,
      columns: [
        texts(of: rows, "firstName", first, entity), texts(of: rows, "lastName", last, entity),
        RowBatch.Column(slot: entity.slot("age"), values: .integers(rows.map { Int64($0 % 100) })),
        texts(of: rows, "address", addresses, entity),
      ])
  }

  private func texts(of rows: Range<Int>, _ name: String, _ values: [String], _ entity: Entity) -> RowBatch.Column {
    let arena = ByteArena(capacity: rows.count * 32)
    var offsets: [UInt32] = [0]
    offsets.reserveCapacity(rows.count + 1)
    for row in rows {
      var value = values[row % Self.count]
      value.withUTF8 { arena.append(UnsafeRawBufferPointer($0)) }
      offsets.append(UInt32(arena.count))
    }
    return RowBatch.Column(slot: entity.slot(name), values: .bytes(offsets: offsets, arena: arena))
  }
}

extension Person {
  fileprivate static func entity(in model: ManagedObjectModel) -> Entity {
    guard let entity = model.entitiesByName[entityName] else { preconditionFailure("the model has people") }
    return entity
  }
}

extension Entity {
  fileprivate func slot(_ name: String) -> Int {
    guard let property = property(named: name) else { preconditionFailure("a person has this property") }
    return property.slot
  }
}

extension PersonValues {
  /// The columns of members with these numbers.
  func members(
    _ rows: Range<Int>, version: Int, in model: ManagedObjectModel
  ) -> (entity: Entity, columns: [RowBatch.Column]) {
    guard let entity = model.entitiesByName[Member.entityName] else { preconditionFailure("the model has members") }
    let shifted = rows.lowerBound + version..<rows.upperBound + version
    let columns = [
      RowBatch.Column(slot: entity.slot("number"), values: .integers(rows.map(Int64.init))),
      texts(of: shifted, "name", last, entity),
      RowBatch.Column(slot: entity.slot("age"), values: .integers(shifted.map { Int64($0 % 100) })),
      texts(of: shifted, "address", addresses, entity),
    ]
    return (entity, columns.sorted { $0.slot < $1.slot })
  }
}
