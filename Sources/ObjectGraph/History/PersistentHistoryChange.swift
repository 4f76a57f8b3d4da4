public import ObjectModel

/// What a transaction has done to one object.
public struct PersistentHistoryChange: Sendable {
  /// What can become of an object.
  public enum Kind: String, Sendable {
    /// It is new.
    case insert
    /// It has other values.
    case update
    /// It is gone.
    case delete
  }

  /// What became of the object.
  public let kind: Kind
  /// The object, under the entity that it had then.
  public let objectID: ManagedObjectID
  /// The names of the properties that an update has changed, many-to-many relationships included.
  ///
  /// They are those of the model of that time. A to-many relationship whose inverse is to-one does not show here: the
  /// objects at the other end are updated.
  public let updatedProperties: Set<String>
  /// What a deleted object had in the attributes that are marked to be preserved.
  public let tombstone: [String: Value]

  package init(
    _ kind: Kind, _ objectID: ManagedObjectID, updatedProperties: Set<String> = [], tombstone: [String: Value] = [:]
  ) {
    self.kind = kind
    self.objectID = objectID
    self.updatedProperties = updatedProperties
    self.tombstone = tombstone
  }
}
