import Foundation
import Jobs
import JSONText
import ObjectGraph
import Synchronization
import TextSupport

/// A job that a worker runs, and its attempt.
final class RunningJob: Sendable {
  let objectID: ManagedObjectID
  let file: LiveFile?

  /// The reason why an attempt is to end before its handler is done.
  enum Stop: Sendable, Equatable, CustomStringConvertible {
    /// The job is cancelled; the text says by whom and why.
    case cancelled(String)
    /// The job is held.
    case held
    /// It has reached its timeout.
    case timedOut(Duration)
    /// The daemon ends.
    case shutdown

    /// The event for the job, where an operator asks for one.
    var event: JobEvent? {
      switch self {
      case .cancelled: .cancelled
      case .held: .held
      case .timedOut, .shutdown: nil
      }
    }

    /// An operator's command outweighs the clock and the daemon's end.
    fileprivate var weight: Int {
      switch self {
      case .cancelled: 3
      case .held: 2
      case .timedOut, .shutdown: 1
      }
    }

    var description: String {
      switch self {
      case .cancelled(let reason): reason
      case .held: "it is to be held"
      case .timedOut(let limit): "it took longer than \(TimeSpan.print(limit))"
      case .shutdown: "the daemon is stopping"
      }
    }
  }

  private struct State {
    var attempt: CurrentAttempt?
    var task: Task<JSONValue, any Error>?
    var stop: Stop?
    var stopTime: ContinuousClock.Instant?
    var isEnded = false
    var isAbandoned = false
  }

  private let state = Mutex(State())

  init(_ job: ScheduledJob) {
    objectID = job.id
    file = job.file
  }

  /// The attempt, once its record has been read.
  var attempt: CurrentAttempt? { state.withLock { $0.attempt } }
  /// The reason why the attempt is to end, if it is.
  var stop: Stop? { state.withLock { $0.stop } }
  /// The time at which the attempt was told to end, for the reason that counts.
  var stopTime: ContinuousClock.Instant? { state.withLock { $0.stopTime } }
  /// True if the attempt's outcome is recorded already, though its handler still runs.
  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  func begin(_ attempt: CurrentAttempt) { state.withLock { $0.attempt = attempt } }

  /// Attaches the handler's task, to be cancelled when the attempt is to end; it may be already.
  func attach(_ task: Task<JSONValue, any Error>) {
    let isStopped = state.withLock { state in
      state.task = task
      return state.stop != nil
    }
    if isStopped { task.cancel() }
  }

  /// Asks the handler to end; the heaviest reason counts, and of two equal ones the first.
  ///
  /// - Returns: true if this reason counts; false once the attempt has ended.
  @discardableResult
  func stop(_ reason: Stop) -> Bool {
    let (counts, task) = state.withLock { state in
      let counts = !state.isEnded && reason.weight > state.stop?.weight ?? 0
      if counts { (state.stop, state.stopTime) = (reason, .now) }
      return (counts, state.task)
    }
    task?.cancel()
    return counts
  }

  /// Abandons the attempt, whose handler ignores its cancellation; false if its end is claimed already.
  func abandon() -> Bool { claimEnd(abandoning: true) }

  /// Claims the right to record the attempt's outcome; false if it was abandoned.
  func claimEnd() -> Bool { claimEnd(abandoning: false) }

  private func claimEnd(abandoning: Bool) -> Bool {
    state.withLock { state in
      if state.isEnded { return false }
      state.isEnded = true
      state.isAbandoned = abandoning
      return true
    }
  }
}

/// An attempt at a job: its record and its handler.
struct CurrentAttempt: Sendable {
  let number: Int
  let started: Date
  let specification: JobSpecification
  let handler: any JobHandler
  let execution: JobExecution
}
