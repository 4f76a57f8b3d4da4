import CLinux
package import Dispatch
import Glibc

/// Reports that the wall clock was set; free while nothing happens.
///
/// A timer for a moment follows a clock that is put forward, but what is due next may be another moment afterwards.
package final class ClockWatcher: Sendable {
  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead

  /// Starts watching.
  ///
  /// - Parameters:
  ///   - queue: Where `handler` is called.
  ///   - handler: Called after each change.
  package init(queue: DispatchQueue, handler: @escaping @Sendable () -> Void) throws(SystemError) {
    let number = try systemCall("timerfd_settime") { linux_watch_clock(-1) }
    let source = DispatchSource.makeReadSource(fileDescriptor: number, queue: queue)
    source.setEventHandler {
      // It says nothing but that there was a change: the read fails.
      var count: UInt64 = 0
      _ = read(number, &count, MemoryLayout<UInt64>.size)
      if linux_watch_clock(number) < 0 { source.cancel() }
      handler()
    }
    source.setCancelHandler { close(number) }
    source.activate()
    self.source = source
  }

  deinit { source.cancel() }

  /// Stops watching. Safe to repeat.
  package func stop() { source.cancel() }
}
