import Configuration
import Jobs
import ObjectGraph

/// What everything that runs, controls or recovers jobs works with.
struct JobEngine: Sendable {
  let main: ManagedObjectContext
  let handlers: HandlerTable
  let policy: JobPolicy
  let scheduler: Scheduler
  let merger: Merger
  let flusher: Flusher
  let waiters: ReleaseWaiters
  let payloadDirectory: String
  let log: DaemonLog
  let onFatal: @Sendable (FatalFailure) -> Void

  /// Tells the operator of an error that something has come to nothing with; one of the store's disk ends the daemon,
  /// since nothing that it reads or writes can be relied on any more.
  func report(_ error: any Error, _ words: String) {
    if !endsWith(error) { log.error("\(words): \(error)") }
  }

  /// Ends the daemon if an error is one of the store's disk; false for any other.
  func endsWith(_ error: any Error) -> Bool {
    guard let error = error as? StoreError, error.code == .inputOutput || error.code == .corrupt else { return false }
    onFatal(.storeFailure("\(error)"))
    return true
  }

  /// Tells a running attempt to end, and whoever sees to it that it does; false if it is not at work, or was told
  /// already.
  func stop(_ id: ManagedObjectID, _ reason: RunningJob.Stop) -> Bool {
    guard let job = scheduler.running(id), job.stop(reason) else { return false }
    scheduler.remind(of: job, after: stopLimit(of: job))
    return true
  }

  /// Arms the alarm for the end of the time that an attempt may work.
  func armTimeout(of job: RunningJob, _ execution: JobExecution) {
    guard let handler = handlers[execution.specification.type],
      let timeout = policy.timeout(of: execution.specification, handler),
      let left = execution.timeLeft(of: timeout)
    else { return }
    scheduler.remind(of: job, after: left)
  }

  /// How long the handler of an attempt has once it was told to end.
  func stopLimit(of job: RunningJob) -> Duration { policy.stopLimit(job.attempt?.handler) }
}
