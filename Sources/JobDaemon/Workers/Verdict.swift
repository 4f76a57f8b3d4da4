import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport
import TextSupport

/// The decision on a job after an attempt.
enum Verdict: Sendable {
  /// Another attempt follows after a delay.
  case retry(after: Duration, JobFailure)
  /// The job is discarded.
  case discard(JobFailure)
  /// Its process crashed too often.
  case quarantine(JobFailure)
  /// The job is cancelled.
  case cancel(String)
  /// The job is held.
  case hold(String?)
  /// Another specification takes the place of the job's, for which it waits; the attempt does not count.
  case giveWay
  /// The daemon ends; the next start recovers the job.
  case interrupt
  /// A fault of this host kept the attempt from beginning: it does not count, and the job runs when its type goes on.
  case putBack(HostFault)

  /// The number of crashes after which a job is quarantined.
  static let crashLimit = 3
  /// The longest delay before a job that needs disk space is retried.
  static let longestFullDiskDelay = Duration.seconds(60)

  /// The circumstances of a failed attempt that count for its verdict.
  struct Circumstances: Sendable {
    /// The reason why the attempt was to end early, if it was.
    var stop: RunningJob.Stop?
    var attempt: Int
    var maxAttempts: Int
    /// The number of earlier crashes of its process.
    var crashes = 0
    var backoff = Backoff()
    /// True on a host of a fleet, where the job may find another host.
    var isShared = false
    /// From 0 up to 1, for the jitter.
    var random = 0.0
  }

  /// Judges an attempt whose handler threw an error.
  init(_ error: any Error, _ circumstances: Circumstances) {
    switch circumstances.stop {
    case .shutdown, .doubtfulLease: self = .interrupt
    case .held: self = .hold(nil)
    case .replaced: self = .giveWay
    case .cancelled(let reason): self = .cancel(reason)
    case .timedOut(let limit):
      let words = RunningJob.Stop.timedOut(limit).description
      self.init(JobFailure(words, isPermanent: false), circumstances)
    case nil:
      if let hold = error as? AttemptHold {
        self = .hold(hold.description)
      } else if let fault = error as? HostFault, !circumstances.isShared {
        self = .putBack(fault)
      } else {
        self.init(Self.failure(error), circumstances)
      }
    }
  }

  private init(_ failure: JobFailure, _ circumstances: Circumstances) {
    if failure.crash != nil && circumstances.crashes + 1 >= Self.crashLimit {
      self = .quarantine(failure)
    } else if failure.isShortage {
      let delay = circumstances.backoff.delay(after: circumstances.attempt, random: circumstances.random)
      self = .retry(after: min(delay, Self.longestFullDiskDelay), failure)
    } else if failure.isPermanent || circumstances.attempt >= circumstances.maxAttempts {
      self = .discard(failure)
    } else {
      let delay = circumstances.backoff.delay(after: circumstances.attempt, random: circumstances.random)
      self = .retry(after: delay, failure)
    }
  }

  /// Returns an error as a failure; an unforeseen one may be transient, but values that don't fit the model, or that the
  /// store can't hold, stay invalid.
  private static func failure(_ error: any Error) -> JobFailure {
    if let failure = error as? JobFailure { return failure }
    let isOfValue = error is ValidationError || (error as? StoreError)?.code == .unsupported
    var failure = JobFailure("\(error)", isPermanent: isOfValue)
    failure.isShortage = error is HostFault
    if let error = error as? SystemError { failure.isShortage = error.isShortage }
    if let error = error as? StoreError { failure.isShortage = error.isTransient }
    return failure
  }

  /// The event that the verdict means for the job.
  var event: JobEvent {
    switch self {
    case .retry: .failed
    case .discard: .gaveUp
    case .quarantine: .quarantined
    case .cancel: .cancelled
    case .hold, .giveWay: .held
    case .interrupt, .putBack: .interrupted
    }
  }

  /// The failure that the job's record keeps.
  var failure: JobFailure? {
    switch self {
    case .retry(_, let failure), .discard(let failure), .quarantine(let failure): failure
    case .cancel(let reason): JobFailure(reason)
    case .hold(let reason): reason.map { JobFailure($0, isPermanent: false) }
    case .putBack(let fault): JobFailure(fault.description, isPermanent: false)
    case .interrupt, .giveWay: nil
    }
  }
}

extension JobLog {
  /// Tells of an attempt that failed or was told to end, and after which its job is not final.
  func note(_ attempt: CurrentAttempt, _ verdict: Verdict, at now: Date) {
    let kind: JobLine.Kind
    switch verdict {
    case .retry: kind = .retried
    case .hold: kind = .held
    // A fault of the host is told once for the whole type, an interruption by whoever causes it.
    default: return
    }
    let ended = attempt.ended(at: now)
    note(kind, of: attempt) {
      let took = TimeSpan.words(seconds: ended.seconds)
      let end =
        if case .retry(let delay, _) = verdict {
          "failed after \(took), next attempt in \(TimeSpan.words(seconds: Double(delay.milliseconds) / 1000))"
        } else {
          "was held after \(took)"
        }
      return JobLine(
        kind, of: attempt.execution.jobID, type: attempt.specification.type,
        words: ": attempt \(ended.number) of \(ended.limit) \(end)", note: verdict.failure.map { "\($0)" },
        attempt: ended)
    }
  }
}
