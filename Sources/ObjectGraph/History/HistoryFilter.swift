import ObjectModel

/// A condition over transactions of a history, which chooses some of them.
struct HistoryFilter {
  private let model: ManagedObjectModel
  private let entity: Entity
  private let evaluator: ConditionEvaluator

  /// - Throws: ``ConditionError`` if the condition names what a transaction does not have.
  init(_ condition: Condition) throws {
    model = try ManagedObjectModel([
      EntityDescription(
        "Transaction",
        attributes: [
          AttributeDescription("author", .string), AttributeDescription("contextName", .string),
          AttributeDescription("process", .string), AttributeDescription("timestamp", .date),
          AttributeDescription("number", .integer64),
        ])
    ])
    entity = model.entities[0]
    evaluator = try ConditionEvaluator(try condition.resolved(for: entity), entity: entity) { _ in nil }
  }

  func matches(_ transaction: PersistentHistoryTransaction) throws -> Bool {
    let values: [String: Value] = [
      "author": transaction.author.map(Value.string) ?? .null,
      "contextName": transaction.contextName.map(Value.string) ?? .null, "process": .string(transaction.process),
      "timestamp": .date(transaction.timestamp), "number": .integer(transaction.token.number),
    ]
    let row = Row(RowLayout(entity)).with(values, entity: entity)
    let id = ManagedObjectID(key: transaction.token.number, entity: entity, coordinatorOrdinal: 0)
    return try evaluator.matches(id: id, row: row)
  }
}
