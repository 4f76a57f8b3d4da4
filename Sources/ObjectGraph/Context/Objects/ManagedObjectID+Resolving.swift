public import Foundation
public import ObjectModel

extension ManagedObjectID {
  /// The coordinator that the ID belongs to, or nil if it is gone.
  package var coordinator: PersistentStoreCoordinator? { CoordinatorRegistry.coordinator(coordinatorOrdinal) }

  /// The entity of the object, or nil if its coordinator is gone.
  ///
  /// An ID taken from a relationship knows the entity that the row names.
  public var entity: Entity? { coordinator?.model.entities[Int(entityIndex)] }

  /// True if no save has brought the object to a store yet.
  public var isTemporaryID: Bool { coordinator?.keys.isTemporary(self) ?? false }

  /// A URI that stands for the object: `x-coredata://STORE/ENTITY/pKEY`, or nil if its coordinator is gone.
  ///
  /// It is the same before and after the save. ``PersistentStoreCoordinator/objectID(for:)`` reads it back.
  public var uriRepresentation: URL? {
    guard let entity, let coordinator, let store = try? coordinator.openStore() else { return nil }
    return URL(string: "x-coredata://\(store.identifier.uuidString)/\(entity.name)/p\(key)")
  }
}

extension ManagedObject: IdentifiedObject {}

extension ManagedObjectID: CustomStringConvertible {
  /// The entity's name and the key.
  public var description: String { "<\(entity?.name ?? "?") \(key)>" }
}

extension PersistentStoreCoordinator {
  /// The ID that a URI stands for, or nil if it is of another store or entity.
  public func objectID(for uri: URL) -> ManagedObjectID? {
    guard uri.scheme == "x-coredata", let store = try? openStore(), uri.host() == store.identifier.uuidString else {
      return nil
    }
    let parts = uri.pathComponents.filter { $0 != "/" }
    guard parts.count == 2, parts[1].first == "p", let key = Int64(parts[1].dropFirst()),
      let entity = model.entitiesByName[parts[0]]
    else { return nil }
    return ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: ordinal)
  }
}
