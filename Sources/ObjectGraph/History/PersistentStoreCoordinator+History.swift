extension PersistentStoreCoordinator {
  /// The place behind the newest transaction of the store, to ask later for what has come since.
  ///
  /// - Throws: ``StoreError`` if the store keeps no history, or can't be read.
  public func currentHistoryToken() throws -> PersistentHistoryToken { try history().currentToken() }

  func history() throws(StoreError) -> any StoreHistory {
    let store = try openStore()
    guard let history = store.history else {
      throw StoreError(
        .unsupported, "the store keeps no history; open it with SQLiteStoreOptions.tracksHistory set", path: store.path)
    }
    return history
  }

  func execute(_ request: PersistentHistoryRequest) throws -> PersistentHistoryResult {
    let history = try history()
    guard request.action == .fetch else {
      return PersistentHistoryResult(transactions: [], count: try history.deleteTransactions(before: request.point))
    }
    let filter = try request.condition.map(HistoryFilter.init)
    let limit = request.fetchLimit ?? .max
    var found: [PersistentHistoryTransaction] = []
    if limit > 0 {
      try history.transactions(after: request.point) { transaction, changes in
        if let filter, try !filter.matches(transaction) { return true }
        found.append(request.includesChanges ? transaction.with(try changes()) : transaction)
        return found.count < limit
      }
    }
    return PersistentHistoryResult(transactions: found, count: found.count)
  }
}

extension PersistentHistoryTransaction {
  func with(_ changes: [PersistentHistoryChange]) -> Self {
    Self(
      token: token, timestamp: timestamp, author: author, contextName: contextName, process: process,
      changes: changes, writer: writer)
  }
}
