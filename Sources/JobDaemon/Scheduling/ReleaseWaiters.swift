import ObjectGraph
import Synchronization

/// Those who wait until a job is on disk and its file released.
final class ReleaseWaiters: Sendable {
  private let waiters = Mutex<[ManagedObjectID: [@Sendable () -> Void]]>([:])

  /// Calls back for each of the jobs when it is released; at once for those that are already.
  func add(_ ids: [ManagedObjectID], to scheduler: Scheduler, _ call: @escaping @Sendable () -> Void) {
    waiters.withLock { waiters in for id in ids { waiters[id, default: []].append(call) } }
    // Looked at afterwards, so that a release in between is not missed.
    let released = scheduler.read { schedule, _ in ids.filter { !schedule.contains($0) } }
    if !released.isEmpty { release(released) }
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
