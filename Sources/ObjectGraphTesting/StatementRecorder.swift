public import StoreInterface
import Synchronization

/// The statements that a store ran: the SQL log and the statement counter of a test.
///
///     let statements = StatementRecorder()
///     var options = SQLiteStoreOptions()
///     options.statementLog = statements.record
///     ...
///     let count = try statements.count { _ = try context.existingObject(with: id) }
///
/// May be used from any thread. Each event also tells the label of the executor that ran the statement.
public final class StatementRecorder: Sendable {
  private let recorded = Mutex<[StatementEvent]>([])

  /// A recorder without statements.
  public init() {}

  /// Adds a statement; for the `statementLog` of a store's options.
  @Sendable public func record(_ event: StatementEvent) { recorded.withLock { $0.append(event) } }

  /// Everything that was recorded since the last ``drain()``.
  public var events: [StatementEvent] { recorded.withLock { $0 } }

  /// Returns what was recorded since the last call, and drops it.
  public func drain() -> [StatementEvent] {
    recorded.withLock { events in
      defer { events = [] }
      return events
    }
  }

  /// Runs the body and returns how many statements the store ran meanwhile, whoever wanted them; forgets earlier ones.
  public func count(_ body: () throws -> Void) rethrows -> Int {
    _ = drain()
    try body()
    return drain().count
  }
}
