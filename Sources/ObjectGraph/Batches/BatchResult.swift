/// What a batch request did. That it did it is told by not having thrown.
public struct BatchResult: Sendable {
  /// What a result tells; the more, the more memory it takes.
  public enum Kind: Sendable {
    /// Nothing but that the request succeeded.
    case statusOnly
    /// How many objects.
    case count
    /// Which objects.
    case objectIDs
  }

  /// What the request asked for.
  public let kind: Kind
  /// How many objects were inserted, updated or deleted, as the request says; 0 if only the status was asked for.
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
