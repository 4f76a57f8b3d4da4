import Dispatch
import Synchronization

/// A few serial queues for work that has none of its own. They share one list, so that nothing waits while one of them is free.
///
/// From their first use on, Dispatch's shared queues, and Swift's pool for tasks behind them, are looked after by a timer
/// that wakes the process once a second for ever. Serial queues are not, so a daemon that is to sleep while it has
/// nothing to do uses these instead of `DispatchQueue.global()` and of tasks without an executor.
package final class WorkQueues: TaskExecutor {
  /// For tasks: what runs here must not block.
  package static let tasks = WorkQueues(label: "tasks", count: 4)

  private struct State {
    /// The queues without work; the one that was used last is used first.
    var idle: [DispatchQueue]
    /// The work that waits, in the order in which it came, behind as many empty places as were taken from it.
    var waiting: [(@Sendable () -> Void)?] = []
    var taken = 0

    mutating func next() -> (@Sendable () -> Void)? {
      if taken == waiting.count || taken == 1_024 {
        waiting.removeFirst(taken)
        taken = 0
      }
      if waiting.isEmpty { return nil }
      defer { taken += 1 }
      // What it holds goes with it.
      return waiting[taken].take()
    }
  }

  private let state: Mutex<State>

  /// - Parameter count: How many pieces of work run at a time.
  package init(label: String, count: Int) {
    state = Mutex(State(idle: (1...count).map { DispatchQueue(label: "\(label) \($0)") }))
  }

  package func async(_ work: @escaping @Sendable () -> Void) {
    let queue = state.withLock { state in
      state.waiting.append(work)
      return state.idle.popLast()
    }
    if let queue { queue.async { [self] in runAll(on: queue) } }
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    async { job.runSynchronously(on: executor) }
  }

  /// Does what waits until nothing does.
  private func runAll(on queue: DispatchQueue) {
    while true {
      let work = state.withLock { state in
        let work = state.next()
        if work == nil { state.idle.append(queue) }
        return work
      }
      guard let work else { return }
      work()
    }
  }
}
