import Configuration
import Jobs
import ObjectGraph

/// The services shared by everything that runs, controls or recovers jobs.
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
  let events: DaemonEvents

  /// Logs the error that made an operation fail; an I/O error of the store ends the daemon, since none of its reads or
  /// writes can be relied on any more.
  func report(_ error: any Error, _ words: String) {
    if !endsWith(error) { log.error("\(words): \(error)") }
  }

  /// Ends the daemon on an I/O error or corruption of the store; returns false for any other error.
  func endsWith(_ error: any Error) -> Bool {
    guard let error = error as? StoreError, error.code == .inputOutput || error.code == .corrupt else { return false }
    events.send(.fatal(.storeFailure("\(error)")))
    return true
  }

  /// Tells a running attempt to end, and arms the alarm that enforces it; false if it is not running, or was told
  /// already.
  func stop(_ id: ManagedObjectID, _ reason: RunningJob.Stop) -> Bool {
    guard let job = scheduler.running(id), job.stop(reason) else { return false }
    scheduler.remind(of: job, after: stopLimit(of: job))
    return true
  }

  /// Arms the alarm for the attempt's timeout.
  func armTimeout(of job: RunningJob, _ execution: JobExecution) {
    guard let handler = handlers[execution.specification.type],
      let timeout = policy.timeout(of: execution.specification, handler),
      let left = execution.timeLeft(of: timeout)
    else { return }
    scheduler.remind(of: job, after: left)
  }

  /// The time that an attempt's handler has to end once it was told to.
  func stopLimit(of job: RunningJob) -> Duration { policy.stopLimit(job.attempt?.handler) }
}
