import StoreInterface
import Synchronization

/// A connection that is opened when it is first needed, replaced when it broke, and lent to one caller at a time.
final class SpareConnection: Sendable {
  private enum State {
    case idle(Connection?)
    case closed
  }

  private let state: Mutex<State>
  private let settings: Connection.Settings

  /// - Parameter connection: one that is open already.
  init(_ settings: Connection.Settings, _ connection: Connection? = nil) {
    self.settings = settings
    state = Mutex(.idle(connection))
  }

  /// Lends the connection, while nobody else has it.
  ///
  /// - Throws: ``StoreError/Code/noStore`` once it is closed.
  func lend<Result: Sendable>(_ body: (Connection) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try state.withLock { state throws(StoreError) in try body(try Self.open(&state, settings)) }
  }

  /// Lends the connection for a body that throws anything.
  func lendToAny<Result: Sendable>(_ body: (Connection) throws -> Result) throws -> Result {
    try state.withLock { state in try body(try Self.open(&state, settings)) }
  }

  private static func open(_ state: inout State, _ settings: Connection.Settings) throws(StoreError) -> Connection {
    guard case .idle(let known) = state else {
      throw StoreError(.noStore, "the store is closed", path: settings.target.place)
    }
    if let known, known.isUsable { return known }
    let made = try Connection.another(settings)
    state = .idle(made)
    return made
  }

  /// Closes the connection for good, after a last use of it if it is open.
  func close(_ last: (Connection) throws(StoreError) -> Void = { _ in }) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      guard case .idle(let connection) = state else { return }
      state = .closed
      guard let connection else { return }
      defer { connection.close() }
      if connection.isUsable { try last(connection) }
    }
  }
}
