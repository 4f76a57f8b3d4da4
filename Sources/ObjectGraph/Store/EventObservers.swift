import Synchronization

/// The observers of a context, or of a coordinator's store.
final class EventObservers<Event: Sendable>: Sendable {
  private struct State {
    var next = 0
    var handlers: [Int: @Sendable (Event) -> Void] = [:]
  }

  private let state = Mutex(State())

  func add(_ handler: @escaping @Sendable (Event) -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.handlers[state.next] = handler
      return state.next
    }
  }

  func remove(_ number: Int) { state.withLock { $0.handlers[number] = nil } }

  var hasObservers: Bool { state.withLock { !$0.handlers.isEmpty } }

  /// Calls the observers in the order in which they were added, on the caller's executor.
  func post(_ event: @autoclosure () -> Event) {
    let handlers = state.withLock { $0.handlers }
    if handlers.isEmpty { return }
    let event = event()
    for (_, handler) in handlers.sorted(by: { $0.key < $1.key }) { handler(event) }
  }
}

/// An observation of a context, a results controller or a store, which ends when it is cancelled or dropped.
public final class ContextObservation: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  /// Ends the observation; an event that is being delivered may still arrive.
  public func cancel() { end() }

  deinit { end() }
}
