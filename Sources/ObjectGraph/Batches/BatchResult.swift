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
