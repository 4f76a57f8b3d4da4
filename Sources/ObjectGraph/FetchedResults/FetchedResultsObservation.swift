/// An observation of a results controller that ends when it is cancelled or dropped.
public final class FetchedResultsObservation: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  /// Ends the observation; an event that is being delivered may still arrive.
  public func cancel() { end() }

  deinit { end() }
}
