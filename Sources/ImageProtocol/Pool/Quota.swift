internal import Synchronization

/// So much of something that jobs share: given out in the order it is asked for, and given back.
///
/// Nothing is lost between asking and waiting, whoever gives back or gives up in between.
final class Quota: Sendable {
  enum Grant: Equatable {
    case granted
    case refused
    /// Call ``wait(_:_:)`` with the ticket.
    case wait(UInt64)
  }

  typealias Continuation = CheckedContinuation<Result<Void, ImageError>, Never>

  private struct Request {
    let ticket: UInt64
    let amount: Int
    /// Nil until its owner waits.
    var continuation: Continuation?
    /// How it ended before its owner waited.
    var result: Result<Void, ImageError>?
  }

  private struct State {
    var free: Int
    var lastTicket: UInt64 = 0
    var isClosed = false
    /// Those that have nothing yet, and those whose owner does not know yet that they have.
    var requests: [Request] = []

    /// Ends a request; its owner is told as soon as it waits.
    mutating func end(at index: Int, _ result: Result<Void, ImageError>) {
      if let continuation = requests[index].continuation {
        requests.remove(at: index)
        continuation.resume(returning: result)
      } else {
        requests[index].result = result
      }
    }

    mutating func grant() {
      while let index = requests.firstIndex(where: { $0.result == nil }), requests[index].amount <= free {
        free -= requests[index].amount
        end(at: index, .success(()))
      }
    }
  }

  private let state: Mutex<State>

  init(_ amount: Int) {
    state = Mutex(State(free: amount))
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  func request(_ amount: Int) -> Grant {
    state.withLock { state in
      if state.isClosed { return .refused }
      // Those who wait for much must not starve behind those who want little.
      guard state.requests.contains(where: { $0.result == nil }) || amount > state.free else {
        state.free -= amount
        return .granted
      }
      state.lastTicket += 1
      state.requests.append(Request(ticket: state.lastTicket, amount: amount))
      return .wait(state.lastTicket)
    }
  }

  /// Takes an amount if there is so much, and nobody waits.
  func takeNow(_ amount: Int) -> Bool {
    state.withLock { state in
      guard !state.isClosed, amount <= state.free, !state.requests.contains(where: { $0.result == nil }) else {
        return false
      }
      state.free -= amount
      return true
    }
  }

  /// Waits for what a request will come to; once for each ticket.
  func wait(_ ticket: UInt64, _ continuation: Continuation) {
    state.withLock { state in
      guard let index = state.requests.firstIndex(where: { $0.ticket == ticket }) else {
        preconditionFailure("a ticket is waited for once")
      }
      if let result = state.requests[index].result {
        state.requests.remove(at: index)
        continuation.resume(returning: result)
      } else {
        state.requests[index].continuation = continuation
      }
    }
  }

  /// Passes on what has become free to those who have waited longest.
  func giveBack(_ amount: Int) {
    state.withLock { state in
      state.free += amount
      state.grant()
    }
  }

  /// Ends one request with an error; does nothing if it has ended.
  func abandon(_ ticket: UInt64, _ error: ImageError) {
    state.withLock { state in
      guard let index = state.requests.firstIndex(where: { $0.ticket == ticket && $0.result == nil }) else { return }
      state.end(at: index, .failure(error))
      state.grant()
    }
  }

  /// Ends all waits with an error and gives out no more.
  func close() {
    state.withLock { state in
      state.isClosed = true
      for index in state.requests.indices.reversed() where state.requests[index].result == nil {
        state.end(at: index, .failure(.poolIsShutDown))
      }
    }
  }
}
