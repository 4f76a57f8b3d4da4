import ObjectModel

/// Deletes objects straight in the store, in one transaction, by their relationships' delete rules: nullify, cascade
/// and deny. What a deny rule refuses makes the request fail, and nothing is deleted.
///
///     try context.execute(BatchDeleteRequest(try FetchRequest<Person>(#Predicate { $0.age > 100 })))
public struct BatchDeleteRequest: PersistentStoreRequest {
  enum Source: Sendable {
    case query(BatchQuery)
    case ids([ManagedObjectID])
  }

  let source: Source
  /// The kind of result to return.
  public var resultType = BatchResult.Kind.statusOnly

  /// Deletes what a fetch request names.
  ///
  /// - Parameter request: its entity, condition, order, limit and offset count; pending changes do not.
  public init<Object: ManagedObject>(_ request: FetchRequest<Object>) { source = .query(BatchQuery(request)) }

  /// Deletes objects that are known, of whatever entities; those that are gone already are passed over.
  public init(objectIDs: [ManagedObjectID]) { source = .ids(objectIDs) }
}

/// Runs a batch delete: finds all that goes, by cascades too, asks the rules that deny, and then deletes.
struct BatchDeletion {
  private let request: BatchDeleteRequest

  init(_ request: BatchDeleteRequest) { self.request = request }

  func run(_ writer: inout BatchWriter) throws {
    var going = try named(writer)
    var all = Set(going)
    // Destinations are added to the end as they are found.
    for start in sequence(first: 0, next: { $0 + BatchWriter.chunkSize }) {
      if start >= going.count { break }
      for id in try cascaded(from: going[start...].prefix(BatchWriter.chunkSize), writer)
      where all.insert(id).inserted {
        going.append(id)
      }
    }
    for chunk in going.chunks { try checkDenied(chunk, all, writer: writer) }
    for chunk in going.chunks { try delete(chunk, all, writer: &writer) }
    writer.count(going)
  }

  /// The stored objects that the request names, each once.
  private func named(_ writer: BatchWriter) throws -> [ManagedObjectID] {
    switch request.source {
    case .query(let query):
      return try BatchQuery.ids(
        query.resolved(writer.coordinator.model), writer.transaction, ordinal: writer.coordinator.ordinal)
    case .ids(let ids):
      var seen: Set<ManagedObjectID> = []
      let own = ids.filter { $0.coordinatorOrdinal == writer.coordinator.ordinal && seen.insert($0).inserted }
      return try own.chunks.flatMap { chunk in try writer.rows(chunk).map(\.id) }
    }
  }

  private func cascaded(from ids: ArraySlice<ManagedObjectID>, _ writer: BatchWriter) throws -> [ManagedObjectID] {
    var found: [ManagedObjectID] = []
    try writer.forEachRelationship(ids, where: { $0.deleteRule == .cascade }) { _, property, owners in
      for (_, destinations) in try writer.destinations(of: owners, property) { found += destinations.map(\.id) }
    }
    return found
  }

  private func checkDenied(_ ids: ArraySlice<ManagedObjectID>, _ all: Set<ManagedObjectID>, writer: BatchWriter)
    throws
  {
    try writer.forEachRelationship(ids, where: { $0.deleteRule == .deny }) { entity, property, owners in
      for (owner, destinations) in try writer.destinations(of: owners, property) {
        let remaining = destinations.count { !all.contains($0.id) }
        if remaining > 0 {
          throw ValidationError.deniedDelete(of: owner, entity, by: property, count: remaining)
        }
      }
    }
  }

  private func delete(
    _ ids: ArraySlice<ManagedObjectID>, _ all: Set<ManagedObjectID>, writer: inout BatchWriter
  ) throws {
    var changes = BatchChanges(writer.coordinator, writer.transaction)
    try writer.forEachRelationship(ids, where: { $0.deleteRule != .noAction }) { _, property, owners in
      if property.joinTable != nil {
        for owner in owners { try changes.removeLinks(of: owner.id, property) }
      } else if let inverse = property.inverse, inverse.storage == .reference {
        for (owner, destinations) in try writer.destinations(of: owners, property) {
          for destination in destinations where !all.contains(destination.id) {
            guard destination.row.referenceIfPresent(inverse.slot) == owner else { continue }
            try changes.update(destination.id, stored: destination.row) { row in
              row.setNull(inverse.slot)
              if let order = inverse.orderProperty { row.setNull(order.slot) }
            }
          }
        }
      }
    }
    for (id, row) in try writer.rows(ids) { changes.delete(id, row) }
    try writer.write(changes.changeSet)
  }
}

extension Array<ManagedObjectID> {
  /// The IDs in parts of the size that batch requests write at a time.
  var chunks: [ArraySlice<ManagedObjectID>] {
    stride(from: 0, to: count, by: BatchWriter.chunkSize).map {
      self[$0..<Swift.min($0 + BatchWriter.chunkSize, count)]
    }
  }
}
