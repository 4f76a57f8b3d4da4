import ObjectModel

/// Runs a batch update.
struct BatchUpdate {
  private let request: BatchUpdateRequest

  init(_ request: BatchUpdateRequest) { self.request = request }

  func run(_ writer: inout BatchWriter) throws {
    let coordinator = writer.coordinator
    let query = try request.query.resolved(coordinator.model)
    let assignments = try request.propertiesToUpdate.sorted { $0.key < $1.key }.map { name, operand in
      try BatchAssignment(name, operand, entity: query.entity)
    }
    // Found before the first is changed, since that can change which of them match.
    let ids = try BatchQuery.ids(query, writer.transaction, ordinal: coordinator.ordinal)
    writer.count(ids)
    if assignments.isEmpty { return }
    let view = PendingView(coordinator, reader: writer.transaction, levels: [])
    let related = RelatedObjects(
      row: { [transaction = writer.transaction] in try transaction.row(for: $0)?.row },
      destinations: { try view.destinations(of: $0, $1) })
    for start in stride(from: 0, to: ids.count, by: BatchWriter.chunkSize) {
      let chunk = Array(ids[start..<min(start + BatchWriter.chunkSize, ids.count)])
      var changes = BatchChanges(coordinator, writer.transaction)
      for (id, stored) in zip(chunk, try writer.transaction.rows(for: chunk)) {
        guard let stored = stored?.row else { continue }
        let scope = EvaluationScope(id: id, row: stored, related: related)
        try changes.update(id, stored: stored) { row in
          for assignment in assignments { try assignment.apply(to: &row, scope) }
        }
        for assignment in assignments {
          guard let destinations = try assignment.destinations(scope) else { continue }
          try changes.set(assignment.property, of: id, to: destinations)
        }
        try changes.checkRequired(coordinator.model.entities[Int(stored.entityIndex)], id)
      }
      try writer.write(changes.changeSet)
    }
  }
}
