import ObjectModel

/// The versions of rows that a root context has lately written itself, a delete counting as one; bounded.
///
/// Between workers of one stack there are no conflicts: whoever saves later adds its changed properties to what the
/// others changed. That must not depend on whether a flush came between their saves; so a change that was made against
/// an older version is no conflict if all versions since came from the same stack. What was forgotten here is told as
/// a conflict.
struct OwnWrites {
  private struct Run {
    var versions: ClosedRange<Int64>
    var root: Int
    /// True if the last of them was the delete.
    var endsWithDelete = false
  }

  private var young: [ManagedObjectID: Run] = [:]
  private var old: [ManagedObjectID: Run] = [:]
  private static let generationLimit = 1 << 15

  /// Returns true if that root context wrote all these versions of a row.
  func contain(_ versions: ClosedRange<Int64>, of id: ManagedObjectID, root: Int) -> Bool {
    guard let run = young[id] ?? old[id], run.root == root else { return false }
    return run.versions.contains(versions.lowerBound) && run.versions.contains(versions.upperBound)
  }

  /// Returns true if a root context has lately written that version of a row.
  func contain(_ version: Int64, of id: ManagedObjectID) -> Bool {
    (young[id] ?? old[id])?.versions.contains(version) ?? false
  }

  /// Takes notice of a change that was written; one that follows a delete has stored the row again.
  mutating func note(_ change: borrowing RowChange, root: Int) {
    let id = change.id
    var run = Run(versions: change.version...change.version, root: root, endsWithDelete: change.kind == .delete)
    if let earlier = young[id] ?? old[id], earlier.root == root,
      change.kind == .insert ? earlier.endsWithDelete : earlier.versions.upperBound == change.version - 1
    {
      run.versions = earlier.versions.lowerBound...change.version
    }
    if young.count >= Self.generationLimit {
      old = young
      young = [:]
    }
    young[id] = run
  }
}
