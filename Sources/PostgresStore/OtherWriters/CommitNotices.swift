import CPostgres
import Glibc
import SQLGeneration
import StoreInterface
import Synchronization

import class Foundation.Thread

/// Tells other hosts that this store has committed and hears it of theirs, on a connection and a thread of its own.
///
/// A NOTIFY inside the transaction that writes would let all committers of the database wait for one another. This one
/// is sent after the commit, at once for all commits since the last one, and nobody waits for it.
final class CommitNotices: Sendable {
  private enum State {
    /// Nothing is to be told.
    case quiet
    case due
    case stopped
  }

  private let state = Mutex(State.quiet)
  private let settings: Connection.Settings
  private let channel: String
  private let handler: @Sendable () -> Void
  /// The descriptor that wakes the thread; it ends with this object, which the thread holds.
  private let wake: Int32

  /// The longest wait for something to happen, and the waits between two tries to reach the server, in milliseconds.
  private static let longestWait: Int32 = 600_000
  private static let retryWaits: [Int32] = [100, 1_000, 5_000, 30_000]

  /// Begins to listen.
  ///
  /// - Parameters:
  ///   - settings: the way to the server.
  ///   - schemaName: the schema of the store, whose users share a channel.
  ///   - handler: called on the thread when others have committed, or may have.
  /// - Throws: ``StoreError`` if the server can't be reached.
  init(
    _ settings: Connection.Settings, schemaName: String, handler: @escaping @Sendable () -> Void
  ) throws(StoreError) {
    self.settings = settings
    self.handler = handler
    channel = SchemaName.quoted(Dialect.postgres.name("bobbin." + schemaName))
    // The flags of eventfd have the values of these.
    wake = eventfd(0, O_CLOEXEC | O_NONBLOCK)
    guard wake >= 0 else {
      throw StoreError(.cannotOpen, "no descriptor is left: \(String(cString: strerror(errno)))")
    }
    let connection = try Self.listen(settings, channel)
    let thread = Thread { [self] in run(connection) }
    thread.name = "notices"
    thread.start()
  }

  deinit { close(wake) }

  /// Tells the others, soon.
  func announce() {
    state.withLock { if case .quiet = $0 { $0 = .due } }
    rouse()
  }

  /// Ends the thread; what was not told yet is told nobody.
  func stop() {
    state.withLock { $0 = .stopped }
    rouse()
  }

  private func rouse() {
    var one: UInt64 = 1
    // It fails only if the thread has been roused many times and has not come to it.
    _ = write(wake, &one, MemoryLayout<UInt64>.size)
  }

  private var isStopped: Bool { state.withLock { if case .stopped = $0 { true } else { false } } }

  private static func listen(_ settings: Connection.Settings, _ channel: String) throws(StoreError) -> Connection {
    let connection = try Connection(settings, .reader)
    // Nothing is written here that anybody would miss.
    try connection.control("SET synchronous_commit = off; LISTEN \(channel)")
    return connection
  }

  private func run(_ first: Connection) {
    var connection: Connection? = first
    var failures = 0
    while !isStopped {
      do throws(StoreError) {
        let current: Connection
        if let connection {
          current = connection
        } else {
          current = try Self.listen(settings, channel)
          connection = current
          failures = 0
          // Nobody has heard what was told meanwhile.
          handler()
        }
        try serve(current)
      } catch {
        connection?.close()
        connection = nil
        waitForTry(Self.retryWaits[min(failures, Self.retryWaits.count - 1)])
        failures += 1
      }
    }
    connection?.close()
  }

  /// Tells what is due and waits for what others tell, once.
  private func serve(_ connection: Connection) throws(StoreError) {
    let isDue = state.withLock { state in
      guard case .due = state else { return false }
      state = .quiet
      return true
    }
    if isDue { try connection.control("NOTIFY \(channel)") }
    if try connection.awaitNotices(orInputOf: wake, limit: Self.longestWait) { handler() }
    drain()
  }

  private func waitForTry(_ milliseconds: Int32) {
    var entry = pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
    // One that is roused to tell something waits nevertheless, or an outage would keep it busy.
    let deadline = ContinuousClock.now + .milliseconds(Int64(milliseconds))
    while !isStopped, case let left = deadline - .now, left > .zero {
      let (seconds, attoseconds) = left.components
      _ = poll(&entry, 1, Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000 + 1))
      drain()
    }
  }

  private func drain() {
    var count: UInt64 = 0
    _ = read(wake, &count, MemoryLayout<UInt64>.size)
  }
}
