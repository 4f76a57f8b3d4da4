import ObjectModel

/// A save that would overwrite what somebody else saved since, or store a unique value twice; nothing was written.
public struct SaveConflicts: Error, Sendable, CustomStringConvertible {
  /// The objects whose stored rows are not those that the changes were made against.
  public let conflicts: [MergeConflict]
  /// The violated uniqueness constraints; looked for only when there are no other conflicts, or these were resolved.
  public let constraintConflicts: [ConstraintConflict]

  init(_ conflicts: [MergeConflict] = [], constraints: [ConstraintConflict] = []) {
    self.conflicts = conflicts
    constraintConflicts = constraints
  }

  /// The first conflicts of each kind and how many more there are; no values.
  public var description: String {
    var reports = conflicts.prefix(3).map { conflict in
      let now = conflict.storedVersion.map { "is at version \($0)" } ?? "was deleted"
      return "\(conflict.entityName) \(conflict.objectID.key), changed at version \(conflict.expectedVersion), \(now)"
    }
    reports += constraintConflicts.prefix(3).map { "\($0)" }
    let more = conflicts.count + constraintConflicts.count - reports.count
    return "the save conflicts with another: " + reports.joined(separator: "; ") + (more > 0 ? " and \(more) more" : "")
  }
}
