package import Configuration
import Jobs
import TextSupport
package import SystemSupport
import Synchronization

/// The daemon's log, with the fields of the job that a message is about.
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

  /// Notifies the service manager, and logs it if that fails; does nothing without one.
  package func tellManager(_ notifications: ServiceNotification...) {
    do throws(SystemError) { try ServiceManager.notify(notifications) } catch {
      warning("the service manager can't be told: \(error)")
    }
  }

  func error(_ message: String, job: CurrentAttempt) { write(.error, message, job) }
  func notice(_ message: String, job: CurrentAttempt) { write(.notice, message, job) }

  /// Logs an attempt that failed or was told to end.
  func attemptEnded(_ attempt: CurrentAttempt, _ verdict: Verdict) {
    let (priority, end): (JournalPriority, String) =
      switch verdict {
      case .retry(let delay, _):
        (.warning, "failed, next attempt in \(TimeSpan.words(seconds: Double(delay.milliseconds) / 1000))")
      case .discard: (.warning, "failed, discarded")
      case .quarantine: (.warning, "failed, quarantined after \(Verdict.crashLimit) crashes")
      case .cancel: (.notice, "was cancelled")
      case .hold, .interrupt: (.notice, "was held")
      }
    let limit = attempt.specification.maxAttempts ?? 1
    let reason = verdict.failure.map { ": \($0)" } ?? ""
    write(
      priority, "job \(attempt.execution.jobID): attempt \(attempt.number) of \(limit) \(end)\(reason)", attempt,
      state: JobState.running.after(verdict.event) ?? .running)
  }

  private func write(_ priority: JournalPriority, _ message: String, _ job: CurrentAttempt?, state: JobState = .running)
  {
    guard priority.rawValue <= level.get().priority else { return }
    var fields: [(String, String)] = []
    if let job {
      fields = [
        ("JOB_ID", job.execution.jobID), ("JOB_TYPE", job.specification.type), ("JOB_STATE", state.rawValue),
      ]
    }
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
