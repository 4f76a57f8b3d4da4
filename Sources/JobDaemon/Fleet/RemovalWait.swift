import Dispatch
import Synchronization
import SystemSupport

/// The wait until the lead has removed jobs, one at a time.
final class RemovalWait: Sendable {
  private enum State {
    case idle
    case waiting(CheckedContinuation<Int, any Error>)
    case closed
  }

  /// The time after which nobody waits any more.
  private static let limit = Duration.seconds(60)

  private let state = Mutex(State.idle)

  /// Has a removal begin, and waits for its end; returns how many jobs are gone.
  ///
  /// - Throws: the reason why the jobs are not removed; ``NoAnswer`` after a minute, and once this is closed.
  func wait(for begin: () -> Void) async throws -> Int {
    let timer = OneShotTimer(queue: DispatchQueue(label: "removal"))
    defer { timer.cancel() }
    return try await withCheckedThrowingContinuation { continuation in
      let isFirst = state.withLock { state in
        guard case .idle = state else { return false }
        state = .waiting(continuation)
        return true
      }
      guard isFirst else { return continuation.resume(throwing: NoAnswer()) }
      timer.arm(after: Self.limit) { [weak self] in self?.end(.failure(NoAnswer())) }
      begin()
    }
  }

  /// Ends the wait under way, if there is one.
  func end(_ result: Result<Int, any Error>) { end(result, then: .idle) }

  /// Ends the wait under way, and refuses others.
  func close() { end(.failure(NoAnswer()), then: .closed) }

  private func end(_ result: Result<Int, any Error>, then next: State) {
    let waiting = state.withLock { state -> CheckedContinuation<Int, any Error>? in
      if case .closed = state { return nil }
      defer { state = next }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    waiting?.resume(with: result)
  }
}
