import Synchronization

/// Keeps the first of several outcomes and hands it to one waiter, before or after it is there.
package final class FirstOutcome<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(CheckedContinuation<Value, any Error>)
    case decided(Result<Value, any Error>)
    case delivered
  }

  private let state = Mutex(State.open)

  package init() {}

  package func set(_ result: Result<Value, any Error>) {
    let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
      switch state {
      case .open:
        state = .decided(result)
        return nil
      case .awaited(let waiter):
        state = .delivered
        return waiter
      case .decided, .delivered:
        return nil
      }
    }
    waiter?.resume(with: result)
  }

  package func value() async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let result = state.withLock { state -> Result<Value, any Error>? in
        switch state {
        case .open:
          state = .awaited(continuation)
          return nil
        case .decided(let result):
          state = .delivered
          return result
        case .awaited, .delivered:
          preconditionFailure("an outcome has one waiter")
        }
      }
      if let result { continuation.resume(with: result) }
    }
  }
}
