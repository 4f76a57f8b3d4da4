import ObjectModel

/// Which versions of rows a root context has lately written itself; bounded.
///
/// Between workers of one stack there are no conflicts: whoever saves later adds its changed properties to what the
/// others changed. That must not depend on whether a flush came between their saves; so a change that was made against
/// an older version is no conflict if all versions since came from the same stack. What was forgotten here is told as
/// a conflict.
struct OwnWrites {
  private struct Run {
    var versions: ClosedRange<Int64>
    var root: Int
  }

  private var young: [ManagedObjectID: Run] = [:]
  private var old: [ManagedObjectID: Run] = [:]
  private static let generationLimit = 1 << 15

  /// Whether all these versions of a row were written by that root context.
  func contain(_ versions: ClosedRange<Int64>, of id: ManagedObjectID, root: Int) -> Bool {
    guard let run = young[id] ?? old[id], run.root == root else { return false }
    return run.versions.contains(versions.lowerBound) && run.versions.contains(versions.upperBound)
  }

  /// Whether any root context has lately written that version of a row.
  func contain(_ version: Int64, of id: ManagedObjectID) -> Bool {
    (young[id] ?? old[id])?.versions.contains(version) ?? false
  }

  mutating func note(_ version: Int64, of id: ManagedObjectID, root: Int) {
    var run = Run(versions: version...version, root: root)
    if let earlier = young[id] ?? old[id], earlier.root == root, earlier.versions.upperBound == version - 1 {
      run.versions = earlier.versions.lowerBound...version
    }
    if young.count >= Self.generationLimit {
      old = young
      young = [:]
    }
    young[id] = run
  }
}
