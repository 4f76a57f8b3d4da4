import ObjectModel

/// The objects that a batch request is about, whatever the type of their fetch request.
struct BatchQuery: Sendable {
  private let resolve: @Sendable (ManagedObjectModel) throws -> FetchQuery

  init<Object: ManagedObject>(_ request: FetchRequest<Object>) {
    resolve = { try FetchQuery(request, $0) }
  }

  /// - Throws: ``ConditionError`` that names what does not exist in the model.
  func resolved(_ model: ManagedObjectModel) throws -> FetchQuery { try resolve(model) }

  /// The IDs in the store, in order.
  static func ids(_ query: FetchQuery, _ reader: any StoreReader, ordinal: UInt32) throws -> [ManagedObjectID] {
    let stored = StoreQuery(
      entity: query.entity, includesSubentities: query.includesSubentities, condition: query.condition,
      sortDescriptors: query.sorts, limit: query.limit, offset: query.offset, wantsRows: false,
      coordinatorOrdinal: ordinal)
    var ids: [ManagedObjectID] = []
    try reader.fetch(stored) { id, _ in
      ids.append(id)
      return true
    }
    return ids
  }
}
