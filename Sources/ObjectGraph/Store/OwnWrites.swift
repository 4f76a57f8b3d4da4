import ObjectModel
import Synchronization

/// The versions of rows that root contexts of a coordinator have lately written themselves, a delete counting as one;
/// bounded.
///
/// Between workers of one stack there are no conflicts: whoever saves later adds its changed properties to what the
/// others changed. That must not depend on whether a flush came between their saves; so a change that was made against
/// an older version is no conflict if all versions since came from the same stack. What was forgotten here is told as
/// a conflict. Any thread may call.
final class OwnWrites: Sendable {
  private struct Run {
    var versions: ClosedRange<Int64>
    var root: Int
    /// True if the last of them was the delete.
    var endsWithDelete = false
  }

  private struct Runs {
    var young: [ManagedObjectID: Run] = [:]
    var old: [ManagedObjectID: Run] = [:]

    subscript(_ id: ManagedObjectID) -> Run? { young[id] ?? old[id] }
  }

  private let runs = Mutex(Runs())
  private static let generationLimit = 1 << 15

  /// Returns true if that root context wrote all these versions of a row.
  func contain(_ versions: ClosedRange<Int64>, of id: ManagedObjectID, root: Int) -> Bool {
    guard let run = runs.withLock({ $0[id] }), run.root == root else { return false }
    return run.versions.contains(versions.lowerBound) && run.versions.contains(versions.upperBound)
  }

  /// Returns true if a root context has lately written that version of a row.
  func contain(_ version: Int64, of id: ManagedObjectID) -> Bool {
    runs.withLock { $0[id]?.versions.contains(version) ?? false }
  }

  /// Takes notice of what a root context has written.
  ///
  /// - Parameter returns: inserts of objects that have been in the store before; other inserts can't conflict.
  func note(_ sets: [ChangeSet], returns: [RowChange], root: Int) {
    runs.withLock { runs in
      for set in sets where !set.isAllInserts {
        let changes = set.changes
        for index in changes.indices where changes[index].kind == .update || changes[index].kind == .delete {
          Self.note(changes[index], root: root, in: &runs)
        }
      }
      for change in returns { Self.note(change, root: root, in: &runs) }
    }
  }

  /// Takes notice of a change that was written; one that follows a delete has stored the row again.
  private static func note(_ change: borrowing RowChange, root: Int, in runs: inout Runs) {
    let id = change.id
    var run = Run(versions: change.version...change.version, root: root, endsWithDelete: change.kind == .delete)
    if let earlier = runs[id], earlier.root == root,
      change.kind == .insert ? earlier.endsWithDelete : earlier.versions.upperBound == change.version - 1
    {
      run.versions = earlier.versions.lowerBound...change.version
    }
    if runs.young.count >= generationLimit {
      runs.old = runs.young
      runs.young = [:]
    }
    runs.young[id] = run
  }
}
