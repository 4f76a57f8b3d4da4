public import Foundation

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
