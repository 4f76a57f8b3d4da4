internal import Dispatch
internal import SystemSupport

/// Runs the pool on a queue of its own, since starting a process blocks for a millisecond or more.
///
/// The tasks that come here prefer ``WorkQueues``; see note 29 for why that is told to the runtime.
final class PoolExecutor: SerialExecutor {
  let queue = DispatchQueue(label: "bobbin.image-helpers")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: WorkQueues.tasks.asUnownedTaskExecutor())
    }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
