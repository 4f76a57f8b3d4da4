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
