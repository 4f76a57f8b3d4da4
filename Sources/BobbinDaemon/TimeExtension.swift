import Dispatch
import JobDaemon
import Synchronization
import SystemSupport

/// Asks the service manager for more time to start or to stop, for as long as something is done.
///
/// A disk may need longer for a migration or for the last flush than a start or a stop may take; one that does nothing any
/// more gets no more time.
final class TimeExtension: Sendable {
  /// The time between two looks, and what the manager is asked for at each.
  private static let period = Duration.seconds(2), patience = Duration.seconds(20)

  private let status: String
  private let timer: OneShotTimer
  private let log: DaemonLog
  private let progress: @Sendable () -> UInt64
  private let isEnded = Atomic(false)

  /// - Parameters:
  ///   - status: what the manager shows meanwhile.
  ///   - queue: where it looks; one that what it looks at does not occupy.
  ///   - progress: a number that changes while something is done.
  init(
    _ status: String, queue: DispatchQueue, log: DaemonLog,
    progress: @escaping @Sendable () -> UInt64
  ) {
    self.status = status
    timer = OneShotTimer(queue: queue)
    self.log = log
    self.progress = progress
  }

  /// Begins when nothing but this is waited for.
  func begin() { look(after: progress()) }

  func end() {
    isEnded.store(true, ordering: .relaxed)
    timer.disarm()
  }

  private func look(after before: UInt64) {
    timer.arm(after: Self.period) { [weak self] in
      guard let self, !isEnded.load(ordering: .relaxed) else { return }
      let now = progress()
      if now != before { log.tellManager(.extendTimeout(Self.patience), .status(status)) }
      look(after: now)
    }
  }
}
