import SQLiteStore
import Synchronization

/// The statements that a store ran, for tests that assert on them.
final class StatementRecorder: Sendable {
  private let events = Mutex<[StatementEvent]>([])

  func record(_ event: StatementEvent) { events.withLock { $0.append(event) } }

  /// What was recorded since the last call.
  func take() -> [StatementEvent] {
    events.withLock { events in
      defer { events = [] }
      return events
    }
  }
}
