import Glibc
import ImageProtocol
import Synchronization
import SystemSupport

/// An amount of a shared resource, granted in the order of requests, and returned.
///
/// Nothing is lost between request and wait, even if others return or abandon amounts in between.
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
    /// The result, if it came before its owner waited.
    var result: Result<Void, ImageError>?
  }

  private struct State {
    var free: Int
    var lastTicket: UInt64 = 0
    var isClosed = false
    /// Requests that wait, and those whose owner has not yet learned of their end.
    var requests: [Request] = []

    /// Ends a request; its owner learns of it once it waits.
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

  /// Acquires an amount if it is free and nobody waits; false otherwise.
  func acquireNow(_ amount: Int) -> Bool {
    state.withLock { state in
      guard !state.isClosed, amount <= state.free, !state.requests.contains(where: { $0.result == nil }) else {
        return false
      }
      state.free -= amount
      return true
    }
  }

  /// Waits for the outcome of a request; once for each ticket.
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

  /// Returns an amount, and grants it to those who have waited longest.
  func `return`(_ amount: Int) {
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

  /// Ends all waits with an error, and grants no more requests.
  func close() {
    state.withLock { state in
      state.isClosed = true
      for index in state.requests.indices.reversed() where state.requests[index].result == nil {
        state.end(at: index, .failure(.poolIsShutDown))
      }
    }
  }
}

extension ImageError {
  static let poolIsShutDown = ImageError(.shutDown, "the image helpers are being shut down", permanent: false)
  static let waitedTooLongForMemory = ImageError(
    .timedOut, "the image helpers' memory did not become free in time", permanent: false)
  static let waitedTooLong = ImageError(.timedOut, "no image helper became free in time", permanent: false)

  /// Makes the error for a picture that needs more memory than all helpers together may have.
  static func needsTooMuch(_ memory: Int, of all: Int) -> ImageError {
    ImageError(
      .tooLarge,
      "the picture needs about \(memory >> 20) MiB of memory; [Image] MemoryBudget leaves \(all >> 20) MiB to pictures: "
        + "allow more, or ask for smaller outputs", permanent: true)
  }

  /// Makes the error for a helper that ended in the middle of a job; a retry may succeed, a limited number of times.
  static func helperDied(_ termination: Termination, request: ImageRequest, lastWords: String?) -> ImageError {
    if termination.status == .signaled(signal: SIGXCPU) {
      // It would take as much again, whatever else the machine does.
      return ImageError(
        .timedOut,
        "the picture took more than \(request.limits.processorSeconds) s of processor time; ask for less effort or "
          + "smaller outputs, or allow more in [Image] TimeoutSec", permanent: true)
    }
    var message = "the image helper ended in the middle of the job: \(termination.status)"
    if termination.status == .signaled(signal: SIGKILL) { message += ", as the kernel does when memory runs out" }
    if let lastWords { message += "; it said: \(lastWords)" }
    // The loader's exit code where a library is missing; the program itself has not begun.
    if termination.status == .exited(code: 127) { return ImageError(.helperNotStarted, message, permanent: false) }
    return ImageError(.helperDied, message, permanent: false)
  }
}

extension Deadline {
  /// Returns the earlier one of both.
  func earlier(_ other: Deadline) -> Deadline {
    guard let mine = instant, let theirs = other.instant else { return instant == nil ? other : self }
    return .at(min(mine, theirs))
  }
}
