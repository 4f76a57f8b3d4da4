import CLinux
package import Dispatch
import Glibc
import Synchronization

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

/// The pipe's end that signal handlers write to; set once, before the first handler is installed, and never closed.
private let signalPipeEnd = Atomic<Int32>(-1)

/// Carries signals from their handlers, where hardly anything is allowed, to Dispatch queues.
///
/// Dispatch's own signal sources register later than they are activated, and an ignored signal that comes in between is
/// lost: a stop right after the start would be. Here a signal has either its old action or this one.
private final class SignalPipe: Sendable {
  struct Subscription: Sendable {
    let owner: ObjectIdentifier
    let queue: DispatchQueue
    let handler: @Sendable (Int32) -> Void
  }

  private static let shared = Mutex<SignalPipe?>(nil)

  private let reader: FileDescriptor
  private let writer: FileDescriptor
  private let subscriptions = Mutex<[Int32: Subscription]>([:])

  private init(reader: consuming FileDescriptor, writer: consuming FileDescriptor) throws(SystemError) {
    // A full pipe holds enough signals; a handler must not wait.
    try reader.setNonBlocking(true)
    try writer.setNonBlocking(true)
    self.reader = reader
    self.writer = writer
  }

  /// The process's only one, made at its first use.
  static func open() throws(SystemError) -> SignalPipe {
    let outcome = shared.withLock { pipe in
      Result { () throws(SystemError) -> SignalPipe in
        if let pipe { return pipe }
        let made = try FileDescriptor.pipe().split { (reader, writer) throws(SystemError) in
          try SignalPipe(reader: reader, writer: writer)
        }
        made.activate()
        pipe = made
        return made
      }
    }
    return try outcome.get()
  }

  func subscribe(_ number: Int32, _ subscription: Subscription) throws(SystemError) {
    subscriptions.withLock { $0[number] = subscription }
    try Self.setAction(number) { number in
      let saved = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = write(signalPipeEnd.load(ordering: .relaxed), &byte, 1)
      errno = saved
    }
  }

  /// Leaves the signal ignored, unless somebody else has subscribed to it meanwhile.
  func unsubscribe(_ number: Int32, owner: ObjectIdentifier) {
    subscriptions.withLock { subscriptions in
      guard subscriptions[number]?.owner == owner else { return }
      subscriptions[number] = nil
      // Can't fail for a signal whose action could be set before.
      try? Self.setAction(number, SIG_IGN)
    }
  }

  private static func setAction(_ number: Int32, _ handler: __sighandler_t?) throws(SystemError) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    action.sa_flags = SA_RESTART
    try systemCall("sigaction", signalName(number)) { sigaction(number, &action, nil) }
  }

  private func activate() {
    signalPipeEnd.store(writer.number, ordering: .relaxed)
    let source = DispatchSource.makeReadSource(
      fileDescriptor: reader.number, queue: DispatchQueue(label: "bobbin.signals"))
    // Never cancelled: handlers may write as long as the process lives.
    source.setEventHandler { [self] in
      withExtendedLifetime(source) { deliver() }
    }
    source.activate()
  }

  private func deliver() {
    var numbers = [UInt8](repeating: 0, count: 256)
    guard let count = try? numbers.withUnsafeMutableBytes({ try reader.read(into: $0) }) else { return }
    for number in numbers.prefix(count).map(Int32.init) {
      guard let subscription = subscriptions.withLock({ $0[number] }) else { continue }
      subscription.queue.async { subscription.handler(number) }
    }
  }
}
