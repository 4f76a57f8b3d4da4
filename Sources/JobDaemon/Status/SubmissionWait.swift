import Dispatch
import ObjectGraph
import Synchronization

/// Waits until all jobs of a submission are durable, until those left are held or wait for others, or until a time is
/// over; then calls back once.
final class SubmissionWait: Sendable {
  private struct State {
    var left: Int
    var isOver = false
    /// Whether one of the jobs was held, so that what is left may never end.
    var sawHeld = false
    /// The index of a job that went on by itself when it was looked at last.
    var active = 0
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
    core.waiters.add(ids, to: core.scheduler, whenHeld: { self.endIfStuck() }, { self.countDown() })
    // What was over before anybody waited for it would be flushed when the timer is due only.
    let isComputed = core.scheduler.read { [ids] schedule, _ in ids.contains { schedule.state(of: $0)?.isFinal == true }
    }
    if isComputed { core.flusher.flushSoon() }
    // A repetition of a job that is held already.
    if core.scheduler.read({ [ids] schedule, _ in ids.contains { schedule.state(of: $0) == .held } }) { endIfStuck() }
  }

  private func countDown() {
    let (isLast, sawHeld) = state.withLock { state in
      state.left -= 1
      return (state.left == 0, state.sawHeld)
    }
    if isLast { end(isOver: true) } else if sawHeld { endIfStuck() }
  }

  /// Ends the wait if none of the jobs goes on by itself.
  private func endIfStuck() {
    let start = state.withLock { state in
      state.sawHeld = true
      return state.active
    }
    let (active, isHeld) = core.scheduler.read { [ids] schedule, _ in
      var isHeld = false
      for offset in ids.indices {
        let index = (start + offset) % ids.count
        switch schedule.state(of: ids[index]) {
        case nil, .waiting: continue
        case .held: isHeld = true
        default: return (Int?.some(index), isHeld)
        }
      }
      return (nil, isHeld)
    }
    if let active { state.withLock { $0.active = active } } else if isHeld { end(isOver: false) }
  }

  private func end(isOver: Bool) {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    if isFirst { completion(isOver) }
  }
}
