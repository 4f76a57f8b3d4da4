import StoreInterface
import Synchronization

/// Connections for reading: opened when needed, kept for the next reader, never waited for.
final class ReaderPool: Sendable {
  private struct State {
    var idle: [Connection] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  private let open: @Sendable () throws(StoreError) -> Connection
  /// More connections than this are closed after use.
  private static let idleLimit = 8

  init(open: @escaping @Sendable () throws(StoreError) -> Connection) { self.open = open }

  /// A connection for the caller alone; give it back with ``giveBack(_:)``.
  func take() throws(StoreError) -> Connection {
    let (isClosed, connection) = state.withLock { ($0.isClosed, $0.idle.popLast()) }
    if isClosed { throw StoreError(.noStore, "the store is closed") }
    return if let connection { connection } else { try open() }
  }

  func giveBack(_ connection: Connection) {
    state.withLock { state in
      if !state.isClosed, state.idle.count < Self.idleLimit { state.idle.append(connection) }
    }
  }

  /// Closes idle connections now and the others when they come back.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.idle = []
    }
  }
}
