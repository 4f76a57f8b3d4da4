package import Configuration
package import SystemSupport
import Synchronization

/// The daemon's log, at a level that a reload may change.
package struct DaemonLog: Sendable {
  private let journal: Journal
  private let level: LevelBox

  package init(journal: Journal, level: LogLevel) {
    self.journal = journal
    self.level = LevelBox(level)
  }

  package func setLevel(_ newLevel: LogLevel) { level.set(newLevel) }

  package func error(_ message: String) { write(.error, message) }
  package func warning(_ message: String) { write(.warning, message) }
  package func notice(_ message: String) { write(.notice, message) }
  package func debug(_ message: String) { write(.debug, message) }

  /// Notifies the service manager, and logs it if that fails; does nothing without one.
  package func tellManager(_ notifications: ServiceNotification...) {
    do throws(SystemError) { try ServiceManager.notify(notifications) } catch {
      warning("the service manager can't be told: \(error)")
    }
  }

  /// Writes a message with fields of its own, if the level lets it through.
  func write(_ priority: JournalPriority, _ message: String, fields: [(String, String)] = []) {
    guard priority.rawValue <= level.get().priority else { return }
    journal.log(priority, message, fields: fields)
  }
}

/// The level, which a reload may change.
private final class LevelBox: Sendable {
  private let level: Mutex<LogLevel>

  init(_ level: LogLevel) { self.level = Mutex(level) }

  func get() -> LogLevel { level.withLock { $0 } }
  func set(_ newLevel: LogLevel) { level.withLock { $0 = newLevel } }
}
