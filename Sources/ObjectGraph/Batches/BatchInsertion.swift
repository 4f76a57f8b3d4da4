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
    case .rows(let row):
      var number = 0
      while let chunk = try nextChunk(row, &number) { try insert(chunk, entity, &writer) }
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

  private func nextChunk(
    _ row: (Int) throws -> BatchInsertRequest.Values?, _ number: inout Int
  ) throws -> [BatchInsertRequest.Values]? {
    var chunk: [BatchInsertRequest.Values] = []
    while chunk.count < BatchWriter.chunkSize, let values = try row(number) {
      chunk.append(values)
      number += 1
    }
    return chunk.isEmpty ? nil : chunk
  }

  private func insert(
    _ chunk: [BatchInsertRequest.Values], _ entity: Entity, _ writer: inout BatchWriter
  ) throws {
    let coordinator = writer.coordinator
    let keys = try writer.transaction.reserveKeys(KeyReservation(root: entity.root, count: chunk.count))
    var changes = BatchChanges(coordinator, writer.transaction)
    var givenSlots: [ManagedObjectID: [Int]] = [:]
    for (key, values) in zip(keys, chunk) {
      let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: coordinator.ordinal)
      let row = try BatchRow(values, entity, defaults: coordinator.defaults[entity.index])
      changes.insert(id, row.row)
      for (property, destinations) in row.destinations {
        try changes.set(property, of: id, to: destinations)
      }
      givenSlots[id] = row.givenSlots
      try changes.checkRequired(entity, id)
    }
    try writer.insert(changes.changeSet, givenSlots: givenSlots)
  }
}
