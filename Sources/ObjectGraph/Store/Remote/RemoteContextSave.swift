public import Foundation
import ObjectModel

/// The objects that another process, a batch request or an extension has saved, by ID or by URI.
///
/// URIs are also valid for other coordinators of the same store.
public struct RemoteContextSave: Sendable {
  /// The IDs of inserted objects.
  public var insertedObjectIDs: [ManagedObjectID]
  /// The IDs of updated objects.
  public var updatedObjectIDs: [ManagedObjectID]
  /// The IDs of deleted objects.
  public var deletedObjectIDs: [ManagedObjectID]
  /// The URIs of inserted objects, as another process sends them.
  public var insertedURIs: [URL] = []
  /// The URIs of updated objects.
  public var updatedURIs: [URL] = []
  /// The URIs of deleted objects.
  public var deletedURIs: [URL] = []

  /// Describes a save by IDs.
  public init(
    inserted: [ManagedObjectID] = [], updated: [ManagedObjectID] = [], deleted: [ManagedObjectID] = []
  ) {
    insertedObjectIDs = inserted
    updatedObjectIDs = updated
    deletedObjectIDs = deleted
  }

  /// Describes a save of another process by URIs.
  public init(insertedURIs: [URL] = [], updatedURIs: [URL] = [], deletedURIs: [URL] = []) {
    self.init(inserted: [], updated: [], deleted: [])
    self.insertedURIs = insertedURIs
    self.updatedURIs = updatedURIs
    self.deletedURIs = deletedURIs
  }

  /// Returns the changes in a form that a coordinator's contexts can merge, without those of other stores.
  func changeSet(for coordinator: PersistentStoreCoordinator) -> ChangeSet {
    func changes(_ kind: RowChange.Kind, _ ids: [ManagedObjectID], uris: [URL]) -> [RowChange] {
      let all = ids.filter { $0.coordinatorOrdinal == coordinator.ordinal } + uris.compactMap(coordinator.objectID)
      return all.map { RowChange(kind, $0, row: nil, base: nil) }
    }
    return ChangeSet(
      changes(.insert, insertedObjectIDs, uris: insertedURIs) + changes(.update, updatedObjectIDs, uris: updatedURIs)
        + changes(.delete, deletedObjectIDs, uris: deletedURIs))
  }
}

/// A commit to a store by another process, or by another coordinator of this one.
public struct PersistentStoreRemoteChange: Sendable {
  /// The store's identifier, as in its tokens and URIs.
  public let storeIdentifier: UUID
  /// The token of the newest transaction of the history; nil if the store keeps none.
  public let historyToken: PersistentHistoryToken?
  /// The changes; nil if unknown, because the other side left no history.
  public let changes: RemoteContextSave?

  init(storeIdentifier: UUID, historyToken: PersistentHistoryToken?, changes: RemoteContextSave?) {
    self.storeIdentifier = storeIdentifier
    self.historyToken = historyToken
    self.changes = changes
  }
}

extension PersistentStoreCoordinator {
  /// Calls a handler after each commit of others to the store, until the observation is dropped.
  ///
  /// By then the row cache is up to date, and contexts that merge automatically are notified. The handler runs on a
  /// queue of the store's and may use contexts. Several commits in a short time can be reported as one change.
  public func observeRemoteChanges(
    _ handler: @escaping @Sendable (PersistentStoreRemoteChange) -> Void
  ) -> ContextObservation {
    let number = remoteObservers.add(handler)
    return ContextObservation { [remoteObservers] in remoteObservers.remove(number) }
  }

  /// Returns others' commits to the store as they are noticed; a slow reader gets the latest `bufferLimit` changes.
  public func remoteChanges(bufferLimit: Int = 1_000) -> AsyncStream<PersistentStoreRemoteChange> {
    AsyncStream(bufferingPolicy: .bufferingNewest(bufferLimit)) { continuation in
      let observation = observeRemoteChanges { continuation.yield($0) }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }
}

extension PersistentStoreCoordinator {
  /// Reads what others have committed, updates the row cache, and notifies followers and observers.
  func process(_ commit: ForeignCommit) {
    // The store was closed meanwhile.
    guard let store = try? openStore() else { return }
    keys.skip(through: commit.highestKeys)
    let (token, changes) = news(store)
    if let changes {
      sharedRows.forget(changes.insertedObjectIDs + changes.updatedObjectIDs + changes.deletedObjectIDs)
    } else {
      sharedRows.forgetAll()
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
