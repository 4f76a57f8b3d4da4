import CLinux
import CSystemd
import Glibc

/// The service manager, if systemd started this process; otherwise everything here does nothing.
package enum ServiceManager {
  /// Notifies the manager, in one message.
  ///
  /// - Returns: False when there is no manager to notify.
  @discardableResult
  package static func notify(_ notifications: [ServiceNotification]) throws(SystemError) -> Bool {
    let now = monotonicMicroseconds()
    let state = notifications.map { $0.assignments(monotonicMicroseconds: now) }.joined(separator: "\n")
    return try libraryCall("sd_notify", state) { sd_notify(0, state) } > 0
  }

  /// The longest time between two ``ServiceNotification/watchdog``; nil when the manager expects none.
  ///
  /// Send it in half the time.
  package static func watchdogInterval() throws(SystemError) -> Duration? {
    var microseconds: UInt64 = 0
    let isEnabled = try libraryCall("sd_watchdog_enabled", nil) { sd_watchdog_enabled(0, &microseconds) } > 0
    return isEnabled ? .microseconds(Int64(clamping: microseconds)) : nil
  }

  /// Takes ownership of the sockets that the manager passed; a second call finds none.
  ///
  /// It changes the environment: call it early, while there is one thread.
  package static func adoptListenDescriptors() throws(SystemError) -> ListenDescriptors {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = try libraryCall("sd_listen_fds_with_names", nil) { sd_listen_fds_with_names(1, &names) }
    defer {
      for index in 0..<Int(count) { free(names?[index]) }
      free(names)
    }
    // SD_LISTEN_FDS_START is 3.
    return ListenDescriptors(
      owning: (0..<count).map { index in
        (names?[Int(index)].map { String(cString: $0) } ?? "unknown", 3 + index)
      })
  }

  /// The unit that a process belongs to; nil if it belongs to none, has ended, or is hidden from this process.
  package static func unit(of process: Int32) -> String? {
    var name: UnsafeMutablePointer<CChar>?
    defer { free(name) }
    guard process > 0, sd_pid_get_unit(process, &name) >= 0 else { return nil }
    return name.map { String(cString: $0) }
  }

  /// libsystemd returns negative error numbers and leaves errno alone.
  private static func libraryCall(
    _ call: String, _ subject: String?, body: () -> Int32
  ) throws(SystemError) -> Int32 {
    let result = body()
    if result < 0 { throw SystemError(.init(rawValue: -result), call: call, subject: subject) }
    return result
  }

  private static func monotonicMicroseconds() -> UInt64 {
    var time = timespec()
    // Can't fail: the clock exists and the address is ours.
    _ = clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
  }
}

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

/// Sockets that systemd opened for us, by the names of their `FileDescriptorName=`; the rest are closed with it.
package struct ListenDescriptors: ~Copyable, Sendable {
  private var entries: [(name: String, number: Int32)]

  init(owning entries: [(name: String, number: Int32)]) {
    self.entries = entries
  }

  deinit {
    for entry in entries { _ = close(entry.number) }
  }

  /// The names of those that are left, in the manager's order.
  package var names: [String] { entries.map(\.name) }

  /// The first one of this name, or nil.
  package mutating func remove(named name: String) -> FileDescriptor? {
    guard let index = entries.firstIndex(where: { $0.name == name }) else { return nil }
    return FileDescriptor(owning: entries.remove(at: index).number)
  }
}
