import ObjectModel

/// A large value whose file can't be read: another save has replaced or removed it since the object was read, or the
/// disk fails.
public struct UnreadableValue: Error, Sendable, CustomStringConvertible {
  /// The object that has the value.
  public let objectID: ManagedObjectID
  /// The name of its entity.
  public let entityName: String
  /// The name of the property.
  public let property: String
  /// The error that reading the file ended with.
  public let reason: String

  init(_ object: ManagedObject, _ property: Property, error: any Error) {
    objectID = object.objectID
    entityName = object.entity.name
    self.property = property.name
    reason = "\(error)"
  }

  /// The value that can't be read, and what to do.
  public var description: String {
    "\(entityName).\(property) of \(objectID) can't be read, and is nil until the object is refreshed: another save may "
      + "have replaced its file (\(reason))"
  }
}
