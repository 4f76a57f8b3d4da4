/// An observation of a context, or of a coordinator's store, that ends when it is cancelled or dropped.
public final class ContextObservation: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  /// Ends the observation; an event that is being delivered may still arrive.
  public func cancel() { end() }

  deinit { end() }
}

extension ManagedObjectContext {
  /// Calls a handler for each event, synchronously on the context's executor, until the observation is dropped.
  public nonisolated func observe(_ handler: @escaping @Sendable (ContextEvent) -> Void) -> ContextObservation {
    let number = observers.add(handler)
    return ContextObservation { [observers] in observers.remove(number) }
  }

  /// Returns the context's events as they happen; a slow reader gets the latest `bufferLimit` of them.
  public nonisolated func events(bufferLimit: Int = 1_000) -> AsyncStream<ContextEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(bufferLimit)) { continuation in
      let observation = observe { continuation.yield($0) }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }
}
