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

  /// A list of fields for the journal, such as `("JOB_ID", "order-1")`.
  package typealias Fields = [(String, String)]

  package func error(_ message: String, as kind: MessageKind? = nil, fields: Fields = []) {
    write(.error, message, as: kind, fields: fields)
  }

  package func warning(_ message: String, as kind: MessageKind? = nil, fields: Fields = []) {
    write(.warning, message, as: kind, fields: fields)
  }

  package func notice(_ message: String, as kind: MessageKind? = nil, fields: Fields = []) {
    write(.notice, message, as: kind, fields: fields)
  }

  package func debug(_ message: String) { write(.debug, message) }

  /// Notifies the service manager, and logs it if that fails; does nothing without one.
  package func tellManager(_ notifications: ServiceNotification...) {
    do throws(SystemError) { try ServiceManager.notify(notifications) } catch {
      warning("the service manager can't be told: \(error)")
    }
  }

  /// True if the level lets messages of this priority through.
  func shows(_ priority: JournalPriority) -> Bool { priority.rawValue <= level.get().priority }

  /// Writes a message with fields of its own, if the level lets it through.
  ///
  /// - Parameter kind: what it is about, for operators and for those who look for it in the journal.
  func write(_ priority: JournalPriority, _ message: String, as kind: MessageKind? = nil, fields: Fields = []) {
    guard shows(priority) else { return }
    journal.log(priority, message, fields: (kind.map { [("MESSAGE_ID", $0.rawValue)] } ?? []) + fields)
  }
}

/// The level, which a reload may change.
private final class LevelBox: Sendable {
  private let level: Mutex<LogLevel>

  init(_ level: LogLevel) { self.level = Mutex(level) }

  func get() -> LogLevel { level.withLock { $0 } }
  func set(_ newLevel: LogLevel) { level.withLock { $0 = newLevel } }
}

extension ConfigurationBox {
  /// Puts a new configuration into force as far as that needs no restart, and logs what is different.
  ///
  /// - Returns: what is in force now.
  package func reload(_ new: Configuration, log: DaemonLog) -> Configuration {
    let old = value
    for change in new.changes(from: old) { log.notice("reload: \(change)") }
    let settings = new.reloaded(over: old)
    replace(settings)
    log.setLevel(settings.log.level)
    return settings
  }
}
