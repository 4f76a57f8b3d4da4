import Synchronization

/// Those who want to know what happens in a context.
final class ContextObservers: Sendable {
  private struct State {
    var next = 0
    var handlers: [Int: @Sendable (ContextEvent) -> Void] = [:]
  }

  private let state = Mutex(State())

  func add(_ handler: @escaping @Sendable (ContextEvent) -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.handlers[state.next] = handler
      return state.next
    }
  }

  func remove(_ number: Int) { state.withLock { $0.handlers[number] = nil } }

  var hasObservers: Bool { state.withLock { !$0.handlers.isEmpty } }

  /// Calls the observers in the order in which they came, on the caller's executor, which is the context's.
  func post(_ event: @autoclosure () -> ContextEvent) {
    let handlers = state.withLock { $0.handlers }
    if handlers.isEmpty { return }
    let event = event()
    for (_, handler) in handlers.sorted(by: { $0.key < $1.key }) { handler(event) }
  }
}

/// An observation that ends when it is cancelled or dropped.
public final class ContextObservation: Sendable {
  private let observers: ContextObservers
  private let number: Int

  init(_ observers: ContextObservers, _ number: Int) {
    self.observers = observers
    self.number = number
  }

  /// Ends the observation; an event that is being delivered may still arrive.
  public func cancel() { observers.remove(number) }

  deinit { observers.remove(number) }
}

extension ManagedObjectContext {
  /// Calls a handler for each event, synchronously on the context's executor, until the observation is dropped.
  public nonisolated func observe(_ handler: @escaping @Sendable (ContextEvent) -> Void) -> ContextObservation {
    ContextObservation(observers, observers.add(handler))
  }

  /// The context's events as they happen; a slow reader gets the latest `bufferLimit` of them.
  public nonisolated func events(bufferLimit: Int = 1_000) -> AsyncStream<ContextEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(bufferLimit)) { continuation in
      let observation = observe { continuation.yield($0) }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }
}
