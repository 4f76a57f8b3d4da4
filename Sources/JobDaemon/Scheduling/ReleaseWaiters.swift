import ObjectGraph
import Synchronization

/// Those who wait until a job is on disk and its file released.
final class ReleaseWaiters: Sendable {
  private struct Waiter {
    let released: @Sendable () -> Void
    let held: (@Sendable () -> Void)?
  }

  private let waiters = Mutex<[ManagedObjectID: [Waiter]]>([:])

  /// Calls back for each of the jobs when it is released; at once for those that are already.
  ///
  /// - Parameter whenHeld: is called each time one of the jobs is put aside, until it is released.
  func add(
    _ ids: [ManagedObjectID], to scheduler: Scheduler, whenHeld: (@Sendable () -> Void)? = nil,
    _ call: @escaping @Sendable () -> Void
  ) {
    let waiter = Waiter(released: call, held: whenHeld)
    waiters.withLock { waiters in for id in ids { waiters[id, default: []].append(waiter) } }
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
    for call in calls { call.released() }
  }

  /// Tells those who wait for a job that it was put aside.
  func tellHeld(_ id: ManagedObjectID) {
    let calls = waiters.withLock { waiters in waiters.isEmpty ? [] : waiters[id] ?? [] }
    for call in calls { call.held?() }
  }
}
