import Configuration
import Dispatch
import Foundation
import JobSchedule
import Jobs
import Synchronization
import SystemSupport
import TextSupport

/// The lines about jobs in the daemon's log: one for each that has ended, as long as there are not too many a second.
///
/// Nothing here costs a worker time: lines are composed on a queue of their own, those of final jobs once these are on disk.
final class JobLog: Sendable {
  private let configuration: ConfigurationBox
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "job log")
  private let timer: OneShotTimer
  private let limiter = Mutex(JobLineLimiter())

  init(_ configuration: ConfigurationBox, log: DaemonLog) {
    self.configuration = configuration
    self.log = log
    timer = OneShotTimer(queue: queue)
  }

  /// Tells of jobs that are final and on disk.
  func note(_ jobs: [FinishedJob]) {
    queue.async { [self] in
      let limit = configuration.value.log.jobs
      for job in jobs {
        guard let kind = JobLine.Kind(final: job.state) else { continue }
        tell(kind, ofType: job.type, limit: limit) { JobLine(kind, job) }
      }
      arm()
    }
  }

  /// Tells of the end of an attempt after which its job is not final.
  ///
  /// - Parameter line: composed only if there is room for it.
  func note(_ kind: JobLine.Kind, of attempt: CurrentAttempt, _ line: @escaping @Sendable () -> JobLine) {
    queue.async { [self] in
      tell(kind, ofType: attempt.specification.type, limit: configuration.value.log.jobs, line)
      arm()
    }
  }

  /// Tells of an attempt that was cut short, of which nothing is recorded.
  ///
  /// - Parameters:
  ///   - stop: the reason, if it is not the daemon's end.
  ///   - isAbandoned: true if its handler has not even ended.
  func noteInterruption(
    of attempt: CurrentAttempt, by stop: RunningJob.Stop? = nil, at now: Date, isAbandoned: Bool = false
  ) {
    let ended = attempt.ended(at: now)
    let cause = stop == .doubtfulLease ? ", since \(RunningJob.Stop.doubtfulLease)," : " by the daemon's end"
    note(.interrupted, of: attempt) {
      let took = TimeSpan.words(seconds: ended.seconds)
      let note = isAbandoned ? "its handler ignored that" : nil
      return JobLine(
        .interrupted, of: attempt.execution.jobID, type: attempt.specification.type,
        words:
          ": attempt \(ended.number) of \(ended.limit) was interrupted\(cause) after \(took); it runs again",
        note: note, attempt: ended)
    }
  }

  /// Tells that a handler goes on though it was told to end, and that another worker takes the place of its own.
  func noteAbandonment(of attempt: CurrentAttempt) {
    write(.error, "the handler ignored that its attempt was to end; the attempt is abandoned", of: attempt)
  }

  /// Tells that the handler of an abandoned attempt has ended.
  func noteLateEnd(of attempt: CurrentAttempt) { write(.notice, "its abandoned attempt has ended late", of: attempt) }

  /// Waits until everything noted so far is told, with the number of what was too much.
  func flush() {
    queue.sync {
      timer.disarm()
      sumUp(at: .max)
    }
  }

  private func write(_ priority: JournalPriority, _ words: String, of attempt: CurrentAttempt) {
    let (id, type) = (attempt.execution.jobID, attempt.specification.type)
    queue.async { [log] in
      log.write(
        priority, "job \(displayName(id)) (\(type)): \(words)", as: .job, fields: JobLine.fields(of: id, type, .running)
      )
    }
  }

  private func tell(_ kind: JobLine.Kind, ofType type: String, limit: Int, _ line: () -> JobLine) {
    guard log.shows(kind.priority) else { return }
    let now = Moment.now().steady
    sumUp(at: now)
    if limiter.withLock({ $0.admits(kind, ofType: type, limit: limit, at: now) }) { write(line()) }
  }

  /// Has the rest of this second told when it is over.
  private func arm() {
    guard let due = limiter.withLock({ $0.dueTime }) else { return }
    timer.arm(after: .milliseconds(max(0, due - Moment.now().steady)), replacing: false) { [weak self] in
      self?.sumUp(at: due)
    }
  }

  private func sumUp(at now: Int64) { for line in limiter.withLock({ $0.drain(at: now) }) { write(line) } }

  private func write(_ line: JobLine) {
    log.write(line.kind.priority, line.text, as: line.kind.message, fields: line.fields)
  }
}
