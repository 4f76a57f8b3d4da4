import ObjectGraph
import Synchronization

/// Those who wait until a job is on disk and its file released.
final class ReleaseWaiters: Sendable {
  private let waiters = Mutex<[ManagedObjectID: [@Sendable () -> Void]]>([:])

  /// Calls back when the job is released; at once if `isLive` says that it is already.
  func add(_ id: ManagedObjectID, isLive: () -> Bool, _ call: @escaping @Sendable () -> Void) {
    waiters.withLock { $0[id, default: []].append(call) }
    // Looked at afterwards, so that a release in between is not missed.
    if !isLive() { release([id]) }
  }

  /// Whether anybody waits for one of the jobs.
  func contains(_ ids: some Sequence<ManagedObjectID>) -> Bool {
    waiters.withLock { waiters in !waiters.isEmpty && ids.contains { waiters[$0] != nil } }
  }

  /// Answers those who wait for these jobs.
  func release(_ ids: some Sequence<ManagedObjectID>) {
    let calls = waiters.withLock { waiters in
      waiters.isEmpty ? [] : ids.flatMap { waiters.removeValue(forKey: $0) ?? [] }
    }
    for call in calls { call() }
  }
}
