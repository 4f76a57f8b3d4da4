import HTTPService
import Synchronization

/// Replies that are held back until they are released; what comes later isn't held.
final class HeldReplies: Sendable {
  private struct State {
    var isReleased = false
    var held: [(HTTPResponder, HTTPResponse)] = []
  }

  private let state = Mutex(State())

  func hold(_ responder: HTTPResponder, _ response: HTTPResponse) {
    let isReleased = state.withLock { state in
      if !state.isReleased { state.held.append((responder, response)) }
      return state.isReleased
    }
    if isReleased { responder.respond(response) }
  }

  func release() {
    let held = state.withLock { state in
      state.isReleased = true
      return state.held
    }
    for (responder, response) in held { responder.respond(response) }
  }
}
