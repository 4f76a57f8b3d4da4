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
