package import Configuration
import Jobs
package import SystemSupport
import Synchronization

/// What the daemon tells its operator, with the fields of the job it speaks of.
package struct DaemonLog: Sendable {
  private let journal: Journal
  private let level: LevelBox

  package init(journal: Journal, level: LogLevel) {
    self.journal = journal
    self.level = LevelBox(level)
  }

  package func setLevel(_ newLevel: LogLevel) { level.set(newLevel) }

  package func error(_ message: String) { write(.error, message, nil) }
  package func warning(_ message: String) { write(.warning, message, nil) }
  package func notice(_ message: String) { write(.notice, message, nil) }

  func error(_ message: String, job: LiveJob) { write(.error, message, job) }

  /// Tells of a failed attempt.
  func jobFailed(_ job: LiveJob, _ failure: JobFailure, isLast: Bool) {
    let next = isLast ? "given up" : "will be tried again"
    write(.warning, "job \(job.id): attempt \(job.attempt) of \(job.maxAttempts) failed, \(next): \(failure)", job)
  }

  private func write(_ priority: JournalPriority, _ message: String, _ job: LiveJob?) {
    guard priority.rawValue <= level.get().priority else { return }
    var fields: [(String, String)] = []
    if let job {
      fields = [
        ("JOB_ID", job.id), ("JOB_TYPE", job.specification.type), ("JOB_STATE", job.currentState.rawValue),
      ]
    }
    journal.log(priority, message, fields)
  }
}

/// The level, which a reload may change.
private final class LevelBox: Sendable {
  private let level: Mutex<LogLevel>

  init(_ level: LogLevel) { self.level = Mutex(level) }

  func get() -> LogLevel { level.withLock { $0 } }
  func set(_ newLevel: LogLevel) { level.withLock { $0 = newLevel } }
}
