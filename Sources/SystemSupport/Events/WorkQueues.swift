import Dispatch
import Synchronization

/// A few serial queues for work that has none of its own, used in turn.
///
/// From their first use on, Dispatch's shared queues, and Swift's pool for tasks behind them, are looked after by a timer
/// that wakes the process once a second for ever. Serial queues are not, so a daemon that is to sleep while it has
/// nothing to do uses these instead of `DispatchQueue.global()` and of tasks without an executor.
package final class WorkQueues: TaskExecutor {
  /// For tasks: what runs here must not block.
  package static let tasks = WorkQueues(label: "tasks", count: 4)

  private let queues: [DispatchQueue]
  private let turn = Atomic(0)

  /// - Parameter count: How many pieces of work run at a time.
  package init(label: String, count: Int) {
    queues = (1...count).map { DispatchQueue(label: "\(label) \($0)") }
  }

  package func async(_ work: @escaping @Sendable () -> Void) { next().async(execute: work) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    next().async { job.runSynchronously(on: executor) }
  }

  private func next() -> DispatchQueue {
    queues[Int(UInt(bitPattern: turn.wrappingAdd(1, ordering: .relaxed).oldValue) % UInt(queues.count))]
  }
}
