import ObjectModel

/// Looks for stored objects by some of their values.
struct InMemoryLookup {
  private let key: [Property]
  private var found: [[[UInt8]]: ManagedObjectID] = [:]

  /// Cost: a pass over the table.
  init(_ entity: Entity, _ key: [Property], tables: [InMemoryState.Table], model: ManagedObjectModel, ordinal: UInt32)
    throws(StoreError)
  {
    self.key = key
    for (number, stored) in tables[entity.root.index] {
      let row = stored.row
      let owner = model.entities[Int(row.entityIndex)]
      guard owner.isKind(of: entity), let values = try values(of: row) else { continue }
      let id = ManagedObjectID(key: number, entity: owner, coordinatorOrdinal: ordinal)
      // The first, where several have the values.
      if let other = found[values], other.key < number { continue }
      found[values] = id
    }
  }

  func id(of row: Row) throws(StoreError) -> ManagedObjectID? { try values(of: row).flatMap { found[$0] } }

  mutating func add(_ row: Row, _ id: ManagedObjectID) throws(StoreError) {
    if let values = try values(of: row) { found[values] = id }
  }

  private func values(of row: Row) throws(StoreError) -> [[UInt8]]? {
    var values: [[UInt8]] = []
    for property in key {
      if row.isNull(property.slot) { return nil }
      values.append(try InMemoryState.bytes(row, property))
    }
    return values
  }
}

extension InMemoryReader {
  func find(_ batch: RowBatch, key: [Property]) throws(StoreError) -> [ManagedObjectID?] {
    let lookup = try InMemoryLookup(
      batch.entity, key, tables: tables, model: model, ordinal: batch.coordinatorOrdinal)
    var found: [ManagedObjectID?] = []
    for index in 0..<batch.count { found.append(try lookup.id(of: batch.copy(of: index))) }
    return found
  }
}

extension InMemoryTransaction {
  func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult {
    var result = PackedResult(batch)
    var lookup =
      key.isEmpty
      ? nil
      : try InMemoryLookup(
        batch.entity, key, tables: state.tables, model: state.model, ordinal: batch.coordinatorOrdinal)
    for index in 0..<batch.count {
      let row = batch.copy(of: index)
      let own = batch.id(at: result.insertedCount)
      if let id = try lookup?.id(of: row) {
        try meet(id, batch, index: index, row: row, conflict: conflict, properties: key, own: own.key, result: &result)
        continue
      }
      let id = own
      if let violation = try violation(of: RowChange(.insert, id, row: row, base: nil)) {
        result.addViolation(key: id.key, violation)
      } else {
        result.add(.inserted, key: id.key)
        try lookup?.add(row, id)
      }
    }
    return result
  }

  /// Writes a row whose key a stored object has.
  private func meet(
    _ id: ManagedObjectID, _ batch: RowBatch, index: Int, row: Row, conflict: PackedConflict,
    properties: [Property], own key: Int64, result: inout PackedResult
  ) throws(StoreError) {
    switch conflict {
    case .violation: result.addViolation(key: key, batch.takenKey(properties))
    case .skip: result.add(.skipped, key: id.key)
    case .update:
      guard let stored = try reader.row(for: id)?.row else { return }
      var changed = stored
      let given = batch.columns.filter { $0.isGiven(index) }
      for column in given { changed.copyValue(of: row, column.slot, batch.layout.storage[column.slot]) }
      let isSame = given.allSatisfy {
        changed.hasSameValue(as: stored, $0.slot, batch.layout.storage[$0.slot])
      }
      if isSame { return result.add(.unchanged, key: id.key) }
      if let violation = try violation(of: RowChange(.update, id, row: changed, base: stored)) {
        result.addViolation(key: key, violation)
      } else {
        result.addUpdate(id)
      }
    }
  }

  /// Writes one change, unless it violates a constraint.
  private func violation(of change: RowChange) throws(StoreError) -> StoreError? {
    do throws(StoreError) {
      _ = try write(ChangeSet([change]))
      return nil
    } catch {
      if error.code == .constraint { return error }
      throw error
    }
  }
}
