public import Foundation
import ObjectModel

/// Which objects somebody else has saved: another process, a batch request, an extension; by ID or by URI.
///
/// URIs also fit other coordinators of the same store.
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

  /// A save that is known by IDs.
  public init(
    inserted: [ManagedObjectID] = [], updated: [ManagedObjectID] = [], deleted: [ManagedObjectID] = []
  ) {
    insertedObjectIDs = inserted
    updatedObjectIDs = updated
    deletedObjectIDs = deleted
  }

  /// A save that is known by URIs, from another process.
  public init(insertedURIs: [URL] = [], updatedURIs: [URL] = [], deletedURIs: [URL] = []) {
    self.init(inserted: [], updated: [], deleted: [])
    self.insertedURIs = insertedURIs
    self.updatedURIs = updatedURIs
    self.deletedURIs = deletedURIs
  }

  /// What another context of this process saved, without its values.
  public init(_ save: ContextDidSaveObjectIDs) {
    self.init(inserted: save.insertedObjectIDs, updated: save.updatedObjectIDs, deleted: save.deletedObjectIDs)
  }

  /// The changes as a coordinator's contexts can merge them; those of other stores are left out.
  func changeSet(for coordinator: PersistentStoreCoordinator) -> ChangeSet {
    func changes(_ kind: RowChange.Kind, _ ids: [ManagedObjectID], _ uris: [URL]) -> [RowChange] {
      let all = ids.filter { $0.coordinatorOrdinal == coordinator.ordinal } + uris.compactMap(coordinator.objectID)
      return all.map { RowChange(kind, $0, row: nil, base: nil) }
    }
    return ChangeSet(
      changes(.insert, insertedObjectIDs, insertedURIs) + changes(.update, updatedObjectIDs, updatedURIs)
        + changes(.delete, deletedObjectIDs, deletedURIs))
  }
}
