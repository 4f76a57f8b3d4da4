import Dispatch
import Synchronization
import TestSupport

/// Lets tests wait for conditions, which are looked at whenever something may have changed.
package final class Changes: Sendable {
  private struct Waiter {
    let condition: @Sendable () throws -> Bool
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var waiters: [UInt64: Waiter] = [:]
    var lastID: UInt64 = 0
    var isQueued = false
  }

  private let queue = DispatchQueue(label: "changes")
  private let state = Mutex(State())

  package init() {}

  /// Tells that something may have changed.
  package func note() {
    let mustQueue = state.withLock { state in
      defer { state.isQueued = true }
      return !state.isQueued
    }
    if mustQueue { queue.async { self.look() } }
  }

  /// Waits until a condition holds; throws what the condition throws, or that it took too long.
  package func wait(
    seconds: Double = 60, fileID: StaticString = #fileID, line: UInt = #line,
    until condition: @escaping @Sendable () throws -> Bool
  ) async throws {
    try await withTimeout(seconds: seconds, fileID: fileID, line: line) { [self] in
      let id = state.withLock { state in
        state.lastID += 1
        return state.lastID
      }
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          state.withLock { $0.waiters[id] = Waiter(condition: condition, continuation: continuation) }
          note()
          // A cancellation before the registration found nobody to wake.
          if Task.isCancelled { finish(id, .failure(CancellationError())) }
        }
      } onCancel: {
        finish(id, .failure(CancellationError()))
      }
    }
  }

  private func look() {
    let waiters = state.withLock { state in
      state.isQueued = false
      return state.waiters
    }
    for (id, waiter) in waiters {
      do {
        if try waiter.condition() { finish(id, .success(())) }
      } catch {
        finish(id, .failure(error))
      }
    }
  }

  private func finish(_ id: UInt64, _ result: Result<Void, any Error>) {
    state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(with: result)
  }
}
