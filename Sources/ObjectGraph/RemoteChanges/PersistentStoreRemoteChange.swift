public import Foundation

/// Somebody else has committed to a store: another process, or another coordinator of this one.
public struct PersistentStoreRemoteChange: Sendable {
  /// The store, as its tokens and URIs name it.
  public let storeIdentifier: UUID
  /// The place behind the newest transaction of the history; nil if the store keeps none.
  public let historyToken: PersistentHistoryToken?
  /// What has changed; nil if that is not known, because who committed left no history.
  public let changes: RemoteContextSave?

  init(storeIdentifier: UUID, historyToken: PersistentHistoryToken?, changes: RemoteContextSave?) {
    self.storeIdentifier = storeIdentifier
    self.historyToken = historyToken
    self.changes = changes
  }
}

extension PersistentStoreCoordinator {
  /// Calls a handler each time somebody else has committed to the store, until the observation is dropped.
  ///
  /// The row cache is in line with it by then, and contexts that merge automatically are told. The handler runs on a
  /// queue of the store's and may use contexts. Several commits in a short time can come as one change.
  public func observeRemoteChanges(
    _ handler: @escaping @Sendable (PersistentStoreRemoteChange) -> Void
  ) -> ContextObservation {
    let number = remoteObservers.add(handler)
    return ContextObservation { [remoteObservers] in remoteObservers.remove(number) }
  }

  /// What others commit to the store, as it is noticed; a slow reader gets the latest `bufferLimit` changes.
  public func remoteChanges(bufferLimit: Int = 1_000) -> AsyncStream<PersistentStoreRemoteChange> {
    AsyncStream(bufferingPolicy: .bufferingNewest(bufferLimit)) { continuation in
      let observation = observeRemoteChanges { continuation.yield($0) }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }
}
