import ObjectGraph
import Synchronization

/// Keys for new objects of an entity, which are reserved in blocks.
final class ReservedKeys: Sendable {
  private let coordinator: PersistentStoreCoordinator
  private let entity: String
  private let blockSize: Int
  private let keys = Mutex<Range<Int64>>(0..<0)

  init(_ coordinator: PersistentStoreCoordinator, entity: String, blockSize: Int) {
    self.coordinator = coordinator
    self.entity = entity
    self.blockSize = blockSize
  }

  /// Draws the ID of a new object.
  func next() throws -> ManagedObjectID {
    guard let entity = coordinator.model.entitiesByName[entity] else {
      throw StoreError(.incompatibleModel, "the model has no entity \(entity)")
    }
    let key = try keys.withLock { keys in
      if keys.isEmpty {
        keys = try coordinator.openStore().reserveKeys(KeyReservation(root: entity.root, count: blockSize))
      }
      defer { keys = keys.dropFirst() }
      return keys.lowerBound
    }
    return ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: coordinator.ordinal)
  }
}
