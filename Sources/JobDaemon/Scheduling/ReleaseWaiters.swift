import ObjectGraph
import Synchronization

/// The clients that wait until a job is durable and its file released.
final class ReleaseWaiters: Sendable {
  /// Stands for one wait.
  struct Token: Sendable, Hashable { fileprivate let number: UInt64 }

  private struct Waiter {
    let token: Token
    let released: @Sendable () -> Void
    let held: (@Sendable () -> Void)?
  }

  private let waiters = Mutex<[ManagedObjectID: [Waiter]]>([:])
  private let lastNumber = Atomic<UInt64>(0)

  /// Calls back for each of the jobs when it is released; at once for those that are released already.
  ///
  /// - Parameter whenHeld: called each time one of the jobs is held, until it is released.
  @discardableResult
  func add(
    _ ids: [ManagedObjectID], to scheduler: Scheduler, whenHeld: (@Sendable () -> Void)? = nil,
    _ call: @escaping @Sendable () -> Void
  ) -> Token {
    let token = Token(number: lastNumber.add(1, ordering: .relaxed).newValue)
    let waiter = Waiter(token: token, released: call, held: whenHeld)
    waiters.withLock { waiters in for id in ids { waiters[id, default: []].append(waiter) } }
    // Checked afterwards, so that a release in between is not missed.
    let released = scheduler.read { schedule, _ in ids.filter { !schedule.contains($0) } }
    if !released.isEmpty { release(released) }
    return token
  }

  /// Ends a wait for these jobs.
  func remove(_ token: Token, of ids: [ManagedObjectID]) {
    waiters.withLock { waiters in
      for id in ids {
        guard var left = waiters[id] else { continue }
        left.removeAll { $0.token == token }
        waiters[id] = left.isEmpty ? nil : left
      }
    }
  }

  /// The number of waits, of all jobs together.
  var count: Int { waiters.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// True if anything waits for one of the jobs.
  func contains(_ ids: some Sequence<ManagedObjectID>) -> Bool {
    waiters.withLock { waiters in !waiters.isEmpty && ids.contains { waiters[$0] != nil } }
  }

  /// Calls back those that wait for these jobs.
  func release(_ ids: some Sequence<ManagedObjectID>) {
    let calls = waiters.withLock { waiters in
      waiters.isEmpty ? [] : ids.flatMap { waiters.removeValue(forKey: $0) ?? [] }
    }
    for call in calls { call.released() }
  }

  /// Tells those that wait for a job that it is held.
  func tellHeld(_ id: ManagedObjectID) {
    let calls = waiters.withLock { waiters in waiters.isEmpty ? [] : waiters[id] ?? [] }
    for call in calls { call.held?() }
  }
}
