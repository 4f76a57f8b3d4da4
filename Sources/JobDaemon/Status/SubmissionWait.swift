import Dispatch
import ObjectGraph
import Synchronization

/// Waits until all jobs of a submission are durable, or a time is over; then calls back once.
final class SubmissionWait: Sendable {
  private struct State {
    var left: Int
    var isOver = false
  }

  private static let queue = DispatchQueue(label: "ends of waits")

  private let ids: [ManagedObjectID]
  private let core: DaemonCore
  private let completion: @Sendable (_ isOver: Bool) -> Void
  private let state: Mutex<State>

  init(_ ids: [ManagedObjectID], _ core: DaemonCore, completion: @escaping @Sendable (_ isOver: Bool) -> Void) {
    self.ids = ids
    self.core = core
    self.completion = completion
    state = Mutex(State(left: ids.count))
  }

  func begin(limit: Duration) {
    let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: Int64(limit / .nanoseconds(1))))
    Self.queue.asyncAfter(deadline: deadline) { [weak self] in self?.end(isOver: false) }
    // The callbacks hold this object until the last job is released.
    core.waiters.add(ids, to: core.scheduler) { self.countDown() }
    // What was over before anybody waited for it would be flushed when the timer is due only.
    let isComputed = core.scheduler.read { [ids] schedule, _ in ids.contains { schedule.state(of: $0)?.isFinal == true }
    }
    if isComputed { core.flusher.flushSoon() }
  }

  private func countDown() {
    let isLast = state.withLock { state in
      state.left -= 1
      return state.left == 0
    }
    if isLast { end(isOver: true) }
  }

  private func end(isOver: Bool) {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    if isFirst { completion(isOver) }
  }
}
