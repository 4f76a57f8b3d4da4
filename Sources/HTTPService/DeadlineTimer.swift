import Dispatch

/// A timer that is armed for the next due time only; free while there is none.
final class DeadlineTimer: Sendable {
  // Dispatch's objects may be used from any thread; the module doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceTimer

  init(queue: DispatchQueue, action: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler(handler: action)
    source.schedule(deadline: .distantFuture)
    source.activate()
  }

  func arm(at uptimeNanoseconds: UInt64) {
    source.schedule(deadline: DispatchTime(uptimeNanoseconds: uptimeNanoseconds), leeway: .milliseconds(5))
  }

  /// Must be called before the timer is released; drops the action and what it holds.
  func cancel() {
    source.cancel()
  }

  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// The moment after a duration from now; durations of centuries end in the distant future.
  static func uptime(after duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    let nanoseconds = min(max(seconds, 0), 3_000_000_000) * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    return now + UInt64(nanoseconds)
  }
}
