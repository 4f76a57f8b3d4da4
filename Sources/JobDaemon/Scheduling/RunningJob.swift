import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization

/// A job that a worker runs, and its attempt; ``AttemptState`` decides when that ends.
final class RunningJob: Sendable {
  typealias Stop = AttemptState.Stop

  let objectID: ManagedObjectID
  let file: LiveFile?
  private let parts = Mutex(Parts())

  private struct Parts {
    var state = AttemptState()
    var attempt: CurrentAttempt?
    var task: Task<JSONValue, any Error>?
  }

  init(_ job: ScheduledJob) {
    objectID = job.id
    file = job.file
  }

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

extension AttemptState.Stop {
  /// The event for the job, where an operator asks for one.
  var event: JobEvent? {
    switch self {
    case .cancelled: .cancelled
    case .held: .held
    case .timedOut, .shutdown: nil
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
