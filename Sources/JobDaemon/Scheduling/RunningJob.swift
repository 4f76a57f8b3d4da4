import Fleet
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import TextSupport

/// A job that a worker runs, and its attempt; ``AttemptState`` decides when that ends.
final class RunningJob: Sendable {
  typealias Stop = AttemptState.Stop

  let objectID: ManagedObjectID
  let file: LiveFile?
  /// The lead's assignment, which is the attempt's record; nil without a fleet.
  let run: Run?
  /// The time from when it could have started, in seconds.
  let waitingTime: Double
  /// The rates for which its start counts, with their periods in milliseconds; empty in a fleet, whose lead counts it.
  let rates: [(name: Resource.Name, period: Int64)]
  private let parts = Mutex(Parts())

  private struct Parts {
    var state = AttemptState()
    var attempt: CurrentAttempt?
    var task: Task<JSONValue, any Error>?
  }

  init(
    _ job: ScheduledJob, _ run: Run? = nil, waitingTime: Double = 0,
    rates: [(name: Resource.Name, period: Int64)] = []
  ) {
    objectID = job.id
    file = job.file
    self.run = run
    self.waitingTime = waitingTime
    self.rates = rates
  }

  /// True if it came to another host's spool.
  var isOfOtherSpool: Bool { run != nil && file == nil }

  /// The attempt, once its record has been read.
  var attempt: CurrentAttempt? { parts.withLock { $0.attempt } }
  /// The reason why the attempt is to end, if it is.
  var stop: Stop? { parts.withLock { $0.state.stop?.reason } }
  /// True if the attempt's outcome is recorded already, though its handler still runs.
  var isAbandoned: Bool { parts.withLock { $0.state.isAbandoned } }

  func begin(_ attempt: CurrentAttempt) {
    parts.withLock { parts in
      parts.attempt = attempt
      parts.state.start()
    }
  }

  /// Attaches the handler's task, to be cancelled when the attempt is to end; it may be already.
  func attach(_ task: Task<JSONValue, any Error>) {
    let isStopped = parts.withLock { parts in
      parts.task = task
      return parts.state.stop != nil
    }
    if isStopped { task.cancel() }
  }

  /// Asks the handler to end; the heaviest reason counts, and of two equal ones the first.
  ///
  /// - Returns: true if this reason counts; false once the attempt has ended.
  @discardableResult
  func stop(_ reason: Stop) -> Bool {
    let (counts, task) = parts.withLock { ($0.state.stop(reason, at: .now), $0.task) }
    task?.cancel()
    return counts
  }

  /// Abandons the attempt, whose handler ignores its cancellation; false if its end is claimed already.
  func abandon() -> Bool { parts.withLock { $0.state.abandon() } }

  /// Claims the right to record the attempt's outcome; false if it was abandoned.
  func claimEnd() -> Bool { parts.withLock { $0.state.claimEnd() } }

  /// Decides what the alarm of the attempt means, and cancels its handler if that is to end.
  ///
  /// - Parameters:
  ///   - timeout: the time that the attempt may work in all.
  ///   - stopLimit: the time that its handler has to end once it was told to.
  func alarm(timeout: Duration, stopLimit: Duration) -> AttemptState.AlarmAction {
    let (action, task) = parts.withLock { parts in
      let timeLeft = parts.attempt?.execution.timeLeft(of: timeout)
      return (
        parts.state.alarm(timeLeft: timeLeft, timeout: timeout, stopLimit: stopLimit, at: .now), parts.task
      )
    }
    if case .cancel = action { task?.cancel() }
    return action
  }
}

/// An attempt at a job: its record and its handler.
struct CurrentAttempt: Sendable {
  let number: Int
  let started: Date
  let specification: JobSpecification
  let handler: any JobHandler
  let execution: JobExecution
  /// The reason for which an earlier attempt had given the job up, if its host died before that was done.
  let givenUp: JobFailure?

  /// True if the next attempt goes on where this one ends.
  var goesOn: Bool { (handler as? any OwnHandler)?.goesOn(specification.arguments) ?? false }

  /// The attempt as the log tells of it when it has ended.
  func ended(at now: Date, result: String? = nil) -> FinishedJob.Attempt {
    FinishedJob.Attempt(of: specification, number: number, seconds: now.timeIntervalSince(started), result: result)
  }
}

/// The state machine of a running attempt: who ends it, for which reason, and what its alarm means.
///
/// A value without clock, task or record: each event returns what follows from it. The table of its states is in
/// Documentation/JobStates.md.
struct AttemptState {
  /// The phases; which events lead from one to another is in the table.
  enum Phase: Equatable {
    /// The job's record is being read; there is no handler yet.
    case starting
    /// The handler runs, or is about to.
    case running
    /// The right to record the outcome is claimed, by the worker or, if the attempt was abandoned, by the alarm.
    case ended(isAbandoned: Bool)
  }

  /// The reason why an attempt is to end before its handler is done.
  enum Stop: Sendable, Equatable, CustomStringConvertible {
    /// The job is cancelled; the text says by whom and why.
    case cancelled(String)
    /// The job is held.
    case held
    /// Another specification takes the place of the job's.
    case replaced
    /// It has reached its timeout.
    case timedOut(Duration)
    /// The daemon ends.
    case shutdown
    /// The fleet's database has not answered for so long that another host may begin the job, which is exclusive.
    case doubtfulLease

    /// An operator's command outweighs the clock and the daemon's end.
    fileprivate var weight: Int {
      switch self {
      case .cancelled: 3
      case .held, .replaced: 2
      case .timedOut, .shutdown, .doubtfulLease: 1
      }
    }

    var description: String {
      switch self {
      case .cancelled(let reason): reason
      case .held: "it is to be held"
      case .replaced: "it is replaced by another submission of its ID"
      case .timedOut(let limit): "it took longer than \(TimeSpan.text(of: limit))"
      case .shutdown: "the daemon is stopping"
      case .doubtfulLease: "the fleet's database does not answer, so that another host may begin the job"
      }
    }
  }

  /// An action that an attempt's alarm asks for.
  enum AlarmAction: Equatable {
    case nothing
    /// Arm the alarm again, after a time.
    case remind(after: Duration)
    /// Cancel the handler's task, and arm the alarm for the time that it has to end.
    case cancel(remindAfter: Duration)
    /// Record the end in the place of the worker, and replace that: the handler ignores its cancellation.
    case abandon
  }

  private(set) var phase = Phase.starting
  /// The reason that counts, and the time at which the attempt was told to end for it.
  private(set) var stop: (reason: Stop, time: ContinuousClock.Instant)?

  /// True once another than the worker has claimed the end.
  var isAbandoned: Bool { phase == .ended(isAbandoned: true) }

  /// Notes that the record has been read, so that there is a handler to be watched.
  mutating func start() { if phase == .starting { phase = .running } }

  /// Tells the attempt to end; the heaviest reason counts, and of two equal ones the first.
  ///
  /// - Returns: true if this reason counts; false once the attempt has ended.
  mutating func stop(_ reason: Stop, at now: ContinuousClock.Instant) -> Bool {
    if case .ended = phase { return false }
    guard reason.weight > stop?.reason.weight ?? 0 else { return false }
    stop = (reason, now)
    return true
  }

  /// Claims the right to record the outcome; false if it is claimed already.
  mutating func claimEnd() -> Bool { end(isAbandoned: false) }

  /// Claims the end of an attempt whose handler does not end though the daemon does; false if it is claimed already.
  mutating func abandon() -> Bool { end(isAbandoned: true) }

  private mutating func end(isAbandoned: Bool) -> Bool {
    if case .ended = phase { return false }
    phase = .ended(isAbandoned: isAbandoned)
    return true
  }

  /// Decides what an alarm means. Alarms are never disarmed, so one may come too early, or after the end.
  ///
  /// - Parameters:
  ///   - timeLeft: the time that it may still work; nil while it waits, as the end of the wait arms another alarm.
  ///   - timeout: the time that it may work in all.
  ///   - stopLimit: the time that the handler has to end once it was told to.
  mutating func alarm(
    timeLeft: Duration?, timeout: Duration, stopLimit: Duration, at now: ContinuousClock.Instant
  ) -> AlarmAction {
    guard phase == .running else { return .nothing }
    if let stop {
      let left = stopLimit - stop.time.duration(to: now)
      if left > .zero { return .remind(after: left) }
      // The daemon's end waits for handlers, and abandons them, itself.
      if stop.reason == .shutdown { return .nothing }
      phase = .ended(isAbandoned: true)
      return .abandon
    }
    guard let timeLeft else { return .nothing }
    if timeLeft > .zero { return .remind(after: timeLeft) }
    stop = (.timedOut(timeout), now)
    return .cancel(remindAfter: stopLimit)
  }
}

extension AttemptState.Stop {
  /// The order of a fleet's lead.
  init(_ stop: RunStop) {
    self =
      switch stop.event {
      case .held: .held
      case .interrupted: .replaced
      default: .cancelled(stop.reason ?? "cancelled")
      }
  }

  /// The event for the job, where an operator asks for one.
  var event: JobEvent? {
    switch self {
    case .cancelled: .cancelled
    case .held, .replaced: .held
    case .timedOut, .shutdown, .doubtfulLease: nil
    }
  }
}
