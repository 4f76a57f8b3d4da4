package import Dispatch
import Synchronization

/// Runs work on a serial queue, once for however many requests come before it begins.
///
/// Each request is followed by a run that begins after it.
package final class Coalescer: Sendable {
  private enum State { case idle, queued, stopped }

  private let queue: DispatchQueue
  private let state = Mutex(State.idle)

  /// A coalescer without requests.
  ///
  /// - Parameter queue: the queue on which the work runs.
  package init(queue: DispatchQueue) { self.queue = queue }

  /// Queues work unless some is queued already; what is queued should be the same each time.
  package func request(_ work: @escaping @Sendable () -> Void) {
    let isFirst = state.withLock { state in
      guard state == .idle else { return false }
      state = .queued
      return true
    }
    if isFirst { queue.async { if self.begin() { work() } } }
  }

  /// Returns true if the queued work may run.
  private func begin() -> Bool {
    state.withLock { state in
      guard state == .queued else { return false }
      state = .idle
      return true
    }
  }

  /// Drops what is queued and ignores later requests.
  package func close() { state.withLock { $0 = .stopped } }

  /// Closes it, and returns when no work runs any more. Not to be called by the work.
  package func stop() {
    close()
    queue.sync {}
  }
}

/// Runs asynchronous work in a task, once for however many requests come before it begins, one run at a time.
///
/// Each request is followed by a run that begins after it.
package final class TaskCoalescer: Sendable {
  private enum State {
    case idle
    case running
    /// Work was requested while some runs.
    case runningAndWanted
    case stopped
  }

  private let state = Mutex(State.idle)

  /// A coalescer without requests.
  package init() {}

  /// True once it was stopped, so that work under way should end.
  package var isStopped: Bool { state.withLock { $0 == .stopped } }

  /// Starts work, or another run after the one under way; the work should be the same each time.
  package func request(_ work: @escaping @Sendable () async -> Void) {
    let mustStart = state.withLock { state in
      switch state {
      case .idle:
        state = .running
        return true
      case .running: state = .runningAndWanted
      case .runningAndWanted, .stopped: break
      }
      return false
    }
    guard mustStart else { return }
    Task(executorPreference: WorkQueues.tasks, priority: .medium) {
      if self.isStopped { return }
      repeat { await work() } while self.beginAgain()
    }
  }

  private func beginAgain() -> Bool {
    state.withLock { state in
      switch state {
      case .runningAndWanted:
        state = .running
        return true
      case .running: state = .idle
      case .idle, .stopped: break
      }
      return false
    }
  }

  /// Ignores later requests; the run under way is the last.
  package func stop() { state.withLock { $0 = .stopped } }
}
