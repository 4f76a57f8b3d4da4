import Configuration
import Fleet
import Foundation
import Jobs
import ObjectGraph

/// The services shared by everything that runs, controls or recovers jobs.
struct JobEngine: Sendable {
  let main: ManagedObjectContext
  let handlers: HandlerTable
  let policy: JobPolicy
  let scheduler: Scheduler
  let rateRecords: RateRecords
  let merger: Merger
  let flusher: Flusher
  let waiters: ReleaseWaiters
  let hostFaults: HostFaults
  let shortages: HostShortages
  let payloadDirectory: String
  let uploads: UploadedInputs
  /// Makes the removals of released files durable.
  let syncReleases: @Sendable () throws -> Void
  /// Keeps the inputs that came with a job, and that its arguments name, until it is over.
  let keepInputs: @Sendable (_ arguments: String, _ job: ManagedObjectID) -> Void
  let log: DaemonLog
  let jobLog: JobLog
  let meter: JobMeter
  let events: DaemonEvents
  /// Nil without a fleet.
  let membership: Membership?

  /// The unfinished jobs: of this host, or of its fleet.
  var unfinished: UnfinishedJobs { membership.map(UnfinishedJobs.ofFleet) ?? .here(scheduler) }

  /// The bounds for jobs of other hosts of the fleet; nil without one.
  var userBounds: UserBounds? {
    membership.map { UserBounds(configuration: policy.configuration.value.fleet, spool: $0.spool) }
  }

  /// This moment for records: in a fleet by its database's clock, so that all hosts agree on what is due.
  var date: Date { membership.map { Date(timeIntervalSince1970: Double($0.now.wall) / 1000) } ?? Date() }

  /// Drops the timers of what this host lacks, which is not tried again.
  func stopTimers() {
    hostFaults.stop()
    shortages.stop()
  }

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

  /// Tells the attempt of a run to end, as the fleet's lead has decided; one that waits for a worker goes back to the
  /// lead, which ends it.
  func stop(_ stop: RunStop) {
    if scheduler.running(stop.run.job)?.run == stop.run {
      _ = self.stop(stop.run.job, RunningJob.Stop(stop))
    } else {
      scheduler.giveBack(stop.run)
    }
  }

  /// Tells exclusive attempts to end, since other hosts may begin their jobs soon.
  func stopExclusive() {
    for job in scheduler.allRunning where job.attempt?.handler.settings.isExclusive == true {
      _ = stop(job.objectID, .doubtfulLease)
    }
  }

  /// Ends an attempt of which nothing is written: its job is run again, or held until an operator has seen to it.
  func endUnrecorded(_ job: RunningJob, _ event: JobEvent) {
    if let attempt = job.attempt, event == .interrupted { jobLog.noteInterruption(of: attempt, by: job.stop, at: date) }
    _ = scheduler.end(job, event)
    if let run = job.run { membership?.end(run, event) }
  }

  /// Arms the alarm for the attempt's timeout.
  func armTimeout(of job: RunningJob, _ execution: JobExecution) {
    guard let handler = handlers[execution.specification.type],
      let timeout = policy.timeout(of: execution.specification, handler),
      let left = execution.timeLeft(of: timeout)
    else { return }
    scheduler.remind(of: job, after: left)
  }

  /// Returns the execution for a handler.
  ///
  /// - Parameters:
  ///   - job: the running job, which may be told to end and whose alarm follows the attempt's waits; nil for a
  ///     reversion, which nothing tells to end.
  func execution(
    of specification: JobSpecification, _ id: ManagedObjectID, attempt: Int, submitter: UInt32,
    context: ManagedObjectContext, cursor: String?, isReverting: Bool = false, job: RunningJob? = nil
  ) -> JobExecution {
    let isAttempt = job != nil
    // Weak, as the job owns the execution: a cycle would never be freed.
    return JobExecution(
      jobID: specification.id ?? "", specification: specification, attempt: attempt, submitter: submitter,
      context: context, objectID: id, payloadDirectory: payloadDirectory, cursor: cursor,
      copies: membership.map { membership in InputCopies { try membership.reader().input($0, of: id) } },
      uploads: uploads, isReverting: isReverting,
      isCurrent: { [weak job] in !isAttempt || job?.isAbandoned == false },
      isToldToEnd: { [weak job] in job?.stop != nil },
      hasLease: { [membership] in membership?.mayBegin(at: .now()) ?? true },
      untilDurable: { [merger, flusher] in
        await merger.mergeAndWait()
        return await flusher.waitUntilDurable()
      },
      didWait: { [self, weak job] execution in if let job { armTimeout(of: job, execution) } },
      didCheckpoint: { [merger, flusher] in
        await merger.mergeAndWait()
        await flusher.waitForRoom()
      })
  }

  /// The time that an attempt's handler has to end once it was told to.
  func stopLimit(of job: RunningJob) -> Duration { policy.stopLimit(job.attempt?.handler) }
}
