package import Dispatch
import Glibc

/// Delivers signals to a dispatch queue instead of their default action, from the moment it has been made.
package final class SignalSource: Sendable {
  private let pipe: SignalPipe
  private let signals: Set<Int32>

  /// - Parameters:
  ///   - signals: Such as SIGTERM, SIGINT and SIGHUP; each belongs to the source made last.
  ///   - queue: Where `handler` is called.
  ///   - handler: Gets the signal's number; several of one kind in a row may arrive as one.
  package init(
    _ signals: Set<Int32>, queue: DispatchQueue, handler: @escaping @Sendable (Int32) -> Void
  ) throws(SystemError) {
    self.signals = signals
    pipe = try SignalPipe.open()
    for number in signals {
      try pipe.subscribe(number, .init(owner: ObjectIdentifier(self), queue: queue, handler: handler))
    }
  }

  deinit {
    stop()
  }

  /// Stops delivering; the signals are ignored from then on. Safe to repeat.
  package func stop() {
    for number in signals { pipe.unsubscribe(number, owner: ObjectIdentifier(self)) }
  }

  /// Makes writing to a closed pipe or socket an error instead of the end of the process.
  package static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }
}
