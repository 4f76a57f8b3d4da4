import ObjectModel

/// Runs a batch insert.
struct BatchInsertion {
  private let request: BatchInsertRequest

  init(_ request: BatchInsertRequest) { self.request = request }

  func run(_ writer: inout BatchWriter) throws {
    let entity = try entity(writer.coordinator.model)
    switch request.source {
    case .packed(let next):
      while let batch = try next() {
        guard batch.entity === entity else {
          throw ConditionError(.typeMismatch, "packed rows of \(batch.entity.name) can't become \(entity.name)")
        }
        try writer.insert(ChangeSet([], batches: [batch]), givenSlots: [:])
      }
    case .rows(let fill):
      var packer = BatchPacker(entity, writer.coordinator, capacity: BatchWriter.chunkSize)
      var hasMore = true
      while hasMore {
        hasMore = try packer.pack(fill)
        if packer.count > 0 { try insert(&packer, &writer) }
        packer.removeAll()
      }
    }
  }

  private func entity(_ model: ManagedObjectModel) throws(ConditionError) -> Entity {
    guard let entity = model.entitiesByName[request.entityName] else {
      throw ConditionError(.unknownEntity, "the model has no entity \"\(request.entityName)\"")
    }
    if entity.isAbstract {
      throw ConditionError(
        .unsupported, "the entity \(entity.name) is abstract and has no objects of its own; insert one that inherits")
    }
    return entity
  }

  private func insert(_ packer: inout BatchPacker, _ writer: inout BatchWriter) throws {
    let entity = packer.entity
    let keys = try writer.transaction.reserveKeys(KeyReservation(root: entity.root, count: packer.count))
    let batch = packer.batch(firstKey: keys.lowerBound)
    let defaults = writer.coordinator.defaults[entity.index]
    let binaries = entity.properties.filter { $0.storage == .blob && !defaults.isNull($0.slot) }
    if packer.extras.isEmpty && binaries.isEmpty {
      for property in entity.requiredColumns {
        if let index = batch.firstNull(property.slot) {
          throw ValidationError.missing(property, of: batch.id(at: index), entity)
        }
      }
      try writer.insert(ChangeSet([], batches: [batch]), givenSlots: [:])
    } else {
      try insert(batch, packer.extras, binaryDefaults: binaries, writer: &writer)
    }
  }

  /// Inserts rows as if they were objects, with what has no place in columns.
  private func insert(
    _ batch: RowBatch, _ extras: [BatchExtra], binaryDefaults: [Property], writer: inout BatchWriter
  ) throws {
    let entity = batch.entity
    let defaults = writer.coordinator.defaults[entity.index]
    var changes = BatchChanges(writer.coordinator, writer.transaction)
    var givenSlots: [ManagedObjectID: [Int]] = [:]
    for index in 0..<batch.count {
      var row = batch.copy(of: index)
      for property in binaryDefaults { row.setBlob(defaults.blob(property.slot), property.slot) }
      changes.insert(batch.id(at: index), row)
      givenSlots[batch.id(at: index)] = batch.givenSlots(of: index)
    }
    for extra in extras {
      let id = batch.id(at: extra.row)
      let slot = extra.property.slot
      switch extra.value {
      case .blob(let blob?): try changes.update(id) { $0.setBlob(blob, slot) }
      case .blob(nil): try changes.update(id) { $0.setNull(slot) }
      case .destinations(let destinations): try changes.set(extra.property, of: id, to: destinations)
      }
      givenSlots[id, default: []].append(slot)
      if let order = extra.property.orderProperty { givenSlots[id, default: []].append(order.slot) }
    }
    for index in 0..<batch.count { try changes.checkRequired(entity, batch.id(at: index)) }
    try writer.insert(changes.changeSet, givenSlots: givenSlots)
  }
}
