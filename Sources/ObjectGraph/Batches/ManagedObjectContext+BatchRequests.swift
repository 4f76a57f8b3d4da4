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
