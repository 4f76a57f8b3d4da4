public import ObjectModel

/// A uniqueness constraint that a save would violate: one report per constraint and values.
public struct ConstraintConflict: Sendable {
  /// The entity that has the constraint.
  public let entityName: String
  /// The properties that must be unique together.
  public let properties: [String]
  /// The values, in that order.
  public let values: [Value]
  /// The stored object that has the values already; nil if only objects of the save share them.
  public let storedObjectID: ManagedObjectID?
  /// The objects of the save that have the values, in order.
  public let conflictingObjectIDs: [ManagedObjectID]
}

extension ConstraintConflict: CustomStringConvertible {
  /// Names without values, so that it may be logged.
  public var description: String {
    let names = properties.map { "\(entityName).\($0)" }.joined(separator: ", ")
    let count = conflictingObjectIDs.count + (storedObjectID == nil ? 0 : 1)
    return "\(names) must be unique, and \(count) objects have the same"
  }
}
