import ObjectModel

extension PersistentStoreCoordinator {
  /// Reads what others have committed, updates the row cache, and notifies followers and observers.
  func process(_ commit: ForeignCommit) {
    // The store was closed meanwhile.
    guard let store = try? openStore() else { return }
    skipKeys(through: commit.highestKeys)
    let (token, changes) = news(store)
    if let changes {
      forgetRows(of: changes.insertedObjectIDs + changes.updatedObjectIDs + changes.deletedObjectIDs)
    } else {
      forgetAllRows()
    }
    let change = PersistentStoreRemoteChange(
      storeIdentifier: store.identifier, historyToken: token, changes: changes)
    merging.tell(change)
    remoteObservers.post(change)
  }

  /// Returns what others have written to the history since the last call; nil changes if it is unknown.
  private func news(_ store: any PersistentStore) -> (token: PersistentHistoryToken?, changes: RemoteContextSave?) {
    guard let history = store.history else { return (nil, nil) }
    do {
      guard let seen = seenHistory else {
        seenHistory = try history.currentToken()
        return (seenHistory, nil)
      }
      var changes: [PersistentHistoryChange] = []
      var last = seen
      try history.transactions(after: .token(seen)) { transaction, read in
        if transaction.writer != history.writer { changes += try read() }
        last = transaction.token
        return true
      }
      seenHistory = last
      return (last, changes.isEmpty ? nil : RemoteContextSave(changes))
    } catch {
      // If the history can't be read, objects are compared with the store; next time it is read from its end.
      seenHistory = try? history.currentToken()
      return (seenHistory, nil)
    }
  }
}
