import ObjectModel

/// A save that would overwrite what somebody else saved since; nothing was written.
public struct SaveConflicts: Error, Sendable, CustomStringConvertible {
  /// One object whose stored row is not the one that the change was made against.
  public struct Conflict: Sendable {
    public let objectID: ManagedObjectID
    public let entityName: String
    /// The version that the change was made against.
    public let expectedVersion: Int64
    /// The version in the store, or nil if the object was deleted there.
    public let storedVersion: Int64?
  }

  public let conflicts: [Conflict]

  init(_ conflicts: [StoreConflict], model: ManagedObjectModel) {
    self.conflicts = conflicts.map {
      Conflict(
        objectID: $0.change.id, entityName: model.entities[Int($0.change.id.entityIndex)].name,
        expectedVersion: $0.change.base?.version ?? 0, storedVersion: $0.stored?.version)
    }
  }

  public var description: String {
    let first = conflicts.prefix(3).map { conflict in
      let now = conflict.storedVersion.map { "is at version \($0)" } ?? "was deleted"
      return "\(conflict.entityName) \(conflict.objectID.key), changed at version \(conflict.expectedVersion), \(now)"
    }
    let more = conflicts.count > 3 ? " and \(conflicts.count - 3) more" : ""
    return "the save conflicts with another: " + first.joined(separator: "; ") + more
  }
}
