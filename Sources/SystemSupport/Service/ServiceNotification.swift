/// A service's message to its manager, in the words of sd_notify(3).
package enum ServiceNotification: Hashable, Sendable {
  /// Started, or reloaded.
  case ready
  /// Reloading has begun; ``ready`` must follow.
  case reloading
  case stopping
  /// One line for `systemctl status`.
  case status(String)
  /// Still alive.
  case watchdog
  /// Starting or stopping takes this much longer; to be repeated in time.
  case extendTimeout(Duration)
  /// The errno that made the service fail.
  case failure(errno: Int32)

  /// - Parameter monotonicMicroseconds: The time on CLOCK_MONOTONIC, wanted with a reload.
  func assignments(monotonicMicroseconds: UInt64) -> String {
    switch self {
    case .ready: "READY=1"
    case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(monotonicMicroseconds)"
    case .stopping: "STOPPING=1"
    case .status(let text): "STATUS=\(singleLine(text))"
    case .watchdog: "WATCHDOG=1"
    case .extendTimeout(let duration): "EXTEND_TIMEOUT_USEC=\(max(0, duration.clampedNanoseconds / 1000))"
    case .failure(let errno): "ERRNO=\(errno)"
    }
  }
}
