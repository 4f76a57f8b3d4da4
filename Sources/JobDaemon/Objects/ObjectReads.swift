import Dispatch
import SystemSupport

/// Reads of objects on queues of their own, each with a time limit.
final class ObjectReads: Sendable {
  private let queues = WorkQueues(label: "objects", count: 8)
  private let alarms = DispatchQueue(label: "time limits of objects")

  /// Starts a read, which blocks; it is given up when the time is over, or whoever has the task cancels it.
  ///
  /// - Parameters:
  ///   - limit: the time.
  ///   - body: reads so that it ends when its task is cancelled.
  ///   - done: called with the result, or ``ObjectQueryError/Code/tooSlow``.
  @discardableResult
  func start<Value: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable () throws -> Value,
    then done: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Task<Void, Never> {
    let timer = OneShotTimer(queue: alarms)
    let task = Task(executorPreference: queues, priority: .medium) {
      let result = Result {
        let value = try body()
        try Task.checkCancellation()
        return value
      }
      timer.cancel()
      done(result.mapError { $0 is CancellationError ? ObjectQueryError(tooSlowFor: limit) : $0 })
    }
    timer.arm(after: limit) { task.cancel() }
    return task
  }
}

extension ObjectQueryError {
  fileprivate init(tooSlowFor limit: Duration) {
    self.init(
      .tooSlow, "the query took longer than \(limit) and was given up",
      hint: "ask for less, or for what an index of the model finds; [Status] QueryTimeoutSec is the limit")
  }
}
