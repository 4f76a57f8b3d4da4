package import ObjectModel

/// The store that a coordinator is to open: ``inMemory``, `.sqlite(at:)` or `.postgresql(url:)`.
public struct PersistentStoreDescription: Sendable {
  /// Opens the store; the coordinator's ordinal goes into the IDs that the store makes.
  package let open: @Sendable (ManagedObjectModel, UInt32) throws -> any PersistentStore

  package init(open: @escaping @Sendable (ManagedObjectModel, UInt32) throws -> any PersistentStore) {
    self.open = open
  }
}
