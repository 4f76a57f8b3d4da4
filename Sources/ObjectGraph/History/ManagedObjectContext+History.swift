extension ManagedObjectContext {
  /// The author of this context's changes in the history; until it is set, the parent's.
  public nonisolated var transactionAuthor: String? {
    get { pending.author ?? parent?.transactionAuthor }
    set { pending.author = newValue }
  }

  /// The origin that the history names if this context saves now.
  var transactionOrigin: TransactionOrigin {
    var origin = pending.soleContributor ?? TransactionOrigin(contextName: name)
    origin.author = origin.author ?? transactionAuthor
    return origin
  }

  /// Reads or purges the history of the store.
  ///
  /// - Throws: ``StoreError`` with the code `unsupported` if the store keeps no history, `expiredHistoryToken` if
  ///   transactions after the token were deleted; ``ConditionError`` for a condition that does not fit.
  @discardableResult
  public func execute(_ request: PersistentHistoryRequest) throws -> PersistentHistoryResult {
    try coordinator.execute(request)
  }

  /// Takes over what a transaction of the history has done; see ``mergeChanges(fromRemoteContextSave:)``.
  public func mergeChanges(from transaction: PersistentHistoryTransaction) {
    mergeChanges(fromRemoteContextSave: RemoteContextSave(transaction.changes))
  }
}

extension RemoteContextSave {
  /// Joins changes of a history, naming each object once.
  public init(_ changes: some Sequence<PersistentHistoryChange>) {
    var kinds: [ManagedObjectID: PersistentHistoryChange.Kind] = [:]
    var order: [ManagedObjectID] = []
    for change in changes {
      let earlier = kinds.updateValue(change.kind, forKey: change.objectID)
      if earlier == nil { order.append(change.objectID) }
      // An object that is new to the reader stays so when it is changed again.
      if earlier == .insert, change.kind == .update { kinds[change.objectID] = .insert }
    }
    func ids(_ kind: PersistentHistoryChange.Kind) -> [ManagedObjectID] { order.filter { kinds[$0] == kind } }
    self.init(inserted: ids(.insert), updated: ids(.update), deleted: ids(.delete))
  }
}
