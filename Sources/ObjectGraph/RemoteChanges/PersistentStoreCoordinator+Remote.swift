import ObjectModel

extension PersistentStoreCoordinator {
  /// Finds out what others have committed, brings the row cache in line, and tells everybody.
  func takeNotice(of commit: ForeignCommit) {
    // A store that was closed meanwhile has nobody to tell.
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

  /// What others have written to the history since this was last asked; nil if it does not tell.
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
      // What can't be told from the history is found by reading again; next time it is asked from its end.
      seenHistory = try? history.currentToken()
      return (seenHistory, nil)
    }
  }
}
