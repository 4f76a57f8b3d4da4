internal import Dispatch

/// Runs the pool on a queue of its own, since starting a process blocks for a millisecond or more.
final class PoolExecutor: SerialExecutor {
  let queue = DispatchQueue(label: "bobbin.image-helpers")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
