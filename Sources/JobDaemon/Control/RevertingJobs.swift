import Dispatch
import ObjectGraph
import Synchronization

/// The jobs that are being reverted.
final class RevertingJobs: Sendable {
  private let ids = Mutex<Set<ManagedObjectID>>([])
  private let group = DispatchGroup()

  func contains(_ id: ManagedObjectID) -> Bool { ids.withLock { $0.contains(id) } }

  /// Adds a job; false if it is here already.
  func enter(_ id: ManagedObjectID) -> Bool {
    let isNew = ids.withLock { $0.insert(id).inserted }
    if isNew { group.enter() }
    return isNew
  }

  func leave(_ id: ManagedObjectID) {
    ids.withLock { _ = $0.remove(id) }
    group.leave()
  }

  /// Waits until nothing is being reverted, at most for a time.
  func wait(_ limit: DispatchTimeInterval) { _ = group.wait(timeout: .now() + limit) }
}
