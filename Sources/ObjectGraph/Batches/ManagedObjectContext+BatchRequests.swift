import ObjectModel

extension ManagedObjectContext {
  /// Inserts rows straight into the store; see ``BatchInsertRequest``.
  ///
  /// Neither this context nor another takes notice: no object is made, and nothing is posted. It blocks the executor
  /// until the rows are on disk, all or none.
  /// - Throws: ``ConditionError`` that names an unknown entity or property, or a value of another type;
  ///   ``ValidationError`` for a required value that is missing; ``ObjectNotFound`` for a related object that is not
  ///   stored; ``SaveConflicts`` for unique values that are taken; ``StoreError``.
  @discardableResult
  public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
    try coordinator.execute(from: origin, mergePolicy, kind: request.resultType) {
      try BatchInsertion(request).run(&$0)
    }
  }

  /// Changes objects straight in the store; see ``BatchUpdateRequest``.
  ///
  /// Neither this context nor another takes notice. Who has older values of these objects meets a conflict when saving.
  /// - Throws: ``ConditionError``, ``ValidationError``, ``ObjectNotFound`` and ``StoreError``, as for an insert;
  ///   ``SaveConflicts`` for unique values that are taken.
  @discardableResult
  public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
    // Which of two stored objects is to stay can't be said by a policy.
    try coordinator.execute(from: origin, .error, kind: request.resultType) { try BatchUpdate(request).run(&$0) }
  }

  /// Deletes objects straight in the store; see ``BatchDeleteRequest``.
  ///
  /// Neither this context nor another takes notice.
  /// - Throws: ``ConditionError`` for an unknown entity or property; ``ValidationError`` if a rule denies a delete;
  ///   ``StoreError``.
  @discardableResult
  public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
    try coordinator.execute(from: origin, .error, kind: request.resultType) { try BatchDeletion(request).run(&$0) }
  }

  private var origin: TransactionOrigin { TransactionOrigin(contextName: name, author: transactionAuthor) }
}

extension PersistentStoreCoordinator {
  /// Runs a batch request in one transaction and forgets the cached rows that it changed.
  func execute(
    from origin: TransactionOrigin, _ policy: MergePolicy, kind: BatchResult.Kind,
    body: (inout BatchWriter) throws -> Void
  ) throws -> BatchResult {
    let log = try openStore().transaction(from: origin) { transaction in
      var writer = BatchWriter(self, transaction, policy: policy, kind: kind)
      try body(&writer)
      var log = writer.log
      log.note(transaction.derived)
      return log
    }
    sharedRows.forget(stale: log.stale)
    return log.result
  }
}

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

/// The outcome of a batch request that succeeded; one that failed has thrown.
public struct BatchResult: Sendable {
  /// The detail of a result; more detail takes more memory.
  public enum Kind: Sendable {
    /// Nothing but that the request succeeded.
    case statusOnly
    /// The number of objects.
    case count
    /// The IDs of the objects.
    case objectIDs
  }

  /// The kind that the request asked for.
  public let kind: Kind
  /// The number of objects inserted, updated or deleted, as the request says; 0 if only the status was asked for.
  ///
  /// Stored objects that took over values of new ones count as inserted, if that changed them, and those that a
  /// cascade deleted as deleted.
  public let count: Int
  /// These objects, in order; empty if the IDs were not asked for.
  public let objectIDs: [ManagedObjectID]
  /// Everything that is different in the store, related objects that lost a reference included; empty if the IDs were
  /// not asked for.
  ///
  /// To show it in contexts, give it to `ManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)`.
  public let changes: RemoteContextSave
}

extension Entity {
  /// The property of that name that a batch request may write.
  func storedProperty(_ name: String) throws -> Property {
    guard let property = property(named: name), !property.isHidden else {
      throw ConditionError(.unknownProperty, PropertyPath.message(name, self), fragment: name)
    }
    if property.isTransient {
      throw ConditionError(
        .unsupported, "\(self.name).\(name) is transient, so a batch request can't write it", fragment: name)
    }
    if property.attribute?.derivation != nil {
      throw ConditionError(
        .unsupported, "\(self.name).\(name) is derived, so the store computes it and nobody sets it", fragment: name)
    }
    return property
  }

  func mismatch(_ property: Property, _ expected: String, found: String) -> ConditionError {
    ConditionError(
      .typeMismatch, "\(name).\(property.name) takes \(expected), not a value of type \(found)",
      fragment: property.name)
  }

  /// The properties that have a column which must not be null, and that no store computes.
  var requiredColumns: [Property] {
    properties.filter { $0.isPersistent && !$0.isOptional && $0.attribute?.derivation == nil }
  }
}
