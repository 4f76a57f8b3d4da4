import Dispatch
import JobDaemon
import Synchronization
import SystemSupport

/// Feeds the service manager's watchdog while nothing hangs.
///
/// What hangs is named in the log, since the service manager only says that it has heard nothing.
final class Watchdog: Sendable {
  private let timer: OneShotTimer
  private let log: DaemonLog
  private let named = Mutex<[String]>([])

  /// - Parameter queue: feeds the watchdog; if it hangs, nothing does.
  init(queue: DispatchQueue, log: DaemonLog) {
    timer = OneShotTimer(queue: queue)
    self.log = log
  }

  /// Feeds it from now on, three times in its interval.
  ///
  /// - Parameter hangingParts: asked each time; a feeding is left out while there are any.
  func begin(_ interval: Duration, hangingParts: @escaping @Sendable () -> [String]) {
    timer.arm(after: interval / 3) { [weak self] in
      guard let self else { return }
      feed(unless: hangingParts())
      begin(interval, hangingParts: hangingParts)
    }
  }

  private func feed(unless hanging: [String]) {
    let isNews = named.withLock { named in
      defer { named = hanging }
      return named != hanging
    }
    if hanging.isEmpty { return log.tellManager(.watchdog) }
    if isNews {
      log.error("\(hanging.joined(separator: ", ")) makes no progress; the watchdog is not fed until it does")
    }
  }
}

/// Asks the service manager for more time to stop, for as long as files are written.
///
/// A disk may need longer for the last flush than a stop may take; one that does nothing any more gets no more time.
final class StopExtension: Sendable {
  /// The time between two looks, and what the manager is asked for at each.
  private static let period = Duration.seconds(2), patience = Duration.seconds(20)

  private let timer: OneShotTimer
  private let log: DaemonLog

  init(queue: DispatchQueue, log: DaemonLog) {
    timer = OneShotTimer(queue: queue)
    self.log = log
  }

  /// Begins when nothing but the disk is waited for.
  func begin() { look(after: ProcessActivity.fileBlocks) }

  func end() { timer.disarm() }

  private func look(after blocks: UInt64) {
    timer.arm(after: Self.period) { [weak self] in
      guard let self else { return }
      let now = ProcessActivity.fileBlocks
      if now != blocks { log.tellManager(.extendTimeout(Self.patience), .status("stopping: writing to disk")) }
      look(after: now)
    }
  }
}
