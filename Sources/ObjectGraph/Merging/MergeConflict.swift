public import ObjectModel

/// A conflict about an object whose row has changed since the context's change was made.
///
/// It carries three snapshots by property name: the context's values, those it started from, and the stored ones.
/// References to other objects are shown as URIs.
public struct MergeConflict: Sendable {
  /// The parties of the conflict.
  public enum Kind: Sendable {
    /// Another context of this process has saved or deleted the object, and the coordinator knew it.
    case contextAgainstRowCache
    /// Another process has written to the store, unknown to the coordinator.
    case rowCacheAgainstStore
  }

  /// The parties of the conflict.
  public let kind: Kind
  /// The object that can't be saved as it is.
  public let objectID: ManagedObjectID
  /// The name of its entity.
  public let entityName: String
  /// The version that the change was made against.
  public let expectedVersion: Int64
  /// The version that is stored now, or nil if the object was deleted.
  public let storedVersion: Int64?
  let entity: Entity
  let change: RowChange
  let stored: Row?

  init(_ change: RowChange, stored: Row?, kind: Kind, model: ManagedObjectModel) {
    self.kind = kind
    self.change = change
    self.stored = stored
    let index = change.row?.entityIndex ?? change.base?.entityIndex ?? change.id.entityIndex
    entity = model.entities[Int(index)]
    objectID = change.id
    entityName = entity.name
    expectedVersion = change.base?.version ?? 0
    storedVersion = stored?.version
  }

  /// The values that the context wants to save; nil if it deletes the object.
  public var objectSnapshot: [String: Value]? { snapshot(change.row) }

  /// The values that the context's changes were made against.
  public var cachedSnapshot: [String: Value]? { snapshot(change.base) }

  /// The values in the store; nil if the object was deleted there.
  public var storedSnapshot: [String: Value]? { snapshot(stored) }

  private func snapshot(_ row: Row?) -> [String: Value]? { row.map { $0.snapshot(of: entity) } }
}

extension Row {
  /// The values by property name; binary data that can't be read is left out.
  func snapshot(of entity: Entity) -> [String: Value] {
    var values: [String: Value] = [:]
    for property in entity.properties where property.storage.isStored && !property.isHidden {
      if let attribute = property.attribute {
        values[property.name] = try? value(of: attribute, property.slot)
      } else {
        values[property.name] = referenceIfPresent(property.slot)?.uriRepresentation.map(Value.url) ?? .null
      }
    }
    return values
  }
}
