package import Dispatch
import Synchronization

/// A timer that fires once on a queue each time it is armed; to arm it again replaces what it was armed for.
///
/// A replaced, disarmed or cancelled alarm never runs, even if it was due already and waits for its queue.
package final class OneShotTimer: Sendable {
  private struct State {
    /// A dispatch source is not marked as Sendable, but may be used from any thread; the mutex orders its replacement.
    nonisolated(unsafe) var source: (any DispatchSourceTimer)?
    /// The number of the last alarm, which identifies replaced ones.
    var number: UInt64 = 0
    var isCancelled = false
  }

  private let queue: DispatchQueue
  private let state = Mutex(State())

  /// A timer that is not armed yet.
  ///
  /// - Parameter queue: the queue on which alarms run.
  package init(queue: DispatchQueue) { self.queue = queue }

  deinit { cancel() }

  /// True from when it is armed until its alarm begins to run.
  package var isArmed: Bool { state.withLock { $0.source != nil } }

  /// Arms the timer for a delay, on a clock that can't be set and that stands still while the machine sleeps.
  ///
  /// - Parameters:
  ///   - delay: the time until the alarm.
  ///   - replacing: false to leave an alarm alone that is armed already.
  ///   - alarm: called once.
  package func arm(after delay: Duration, replacing: Bool = true, _ alarm: @escaping @Sendable () -> Void) {
    arm(replacing: replacing, alarm) { $0.schedule(deadline: .now() + DispatchTimeInterval(delay)) }
  }

  /// Arms the timer for a deadline; not at all for one that never comes.
  ///
  /// - Parameters:
  ///   - deadline: the moment of the alarm.
  ///   - alarm: called once.
  package func arm(by deadline: Deadline, _ alarm: @escaping @Sendable () -> Void) {
    if deadline != .never { arm(replacing: true, alarm) { $0.schedule(deadline: deadline.dispatchTime) } }
  }

  /// Arms the timer for a moment on the wall clock, also if that is set meanwhile.
  ///
  /// - Parameters:
  ///   - moment: the time of the alarm.
  ///   - alarm: called once.
  package func arm(at moment: DispatchWallTime, _ alarm: @escaping @Sendable () -> Void) {
    arm(replacing: true, alarm) { $0.schedule(wallDeadline: moment) }
  }

  /// Arms the timer for a moment on the clock of ``arm(after:replacing:_:)``.
  ///
  /// - Parameters:
  ///   - moment: the time of the alarm.
  ///   - alarm: called once.
  package func arm(at moment: DispatchTime, _ alarm: @escaping @Sendable () -> Void) {
    arm(replacing: true, alarm) { $0.schedule(deadline: moment) }
  }

  private func arm(
    replacing: Bool, _ alarm: @escaping @Sendable () -> Void, schedule: (any DispatchSourceTimer) -> Void
  ) {
    state.withLock { state in
      if state.isCancelled || (!replacing && state.source != nil) { return }
      state.source?.cancel()
      state.number += 1
      let source = DispatchSource.makeTimerSource(queue: queue)
      schedule(source)
      source.setEventHandler { [weak self, number = state.number] in
        if self?.begin(number) == true { alarm() }
      }
      source.activate()
      state.source = source
    }
  }

  /// Returns true if the alarm of that number may run.
  private func begin(_ number: UInt64) -> Bool {
    state.withLock { state in
      guard state.number == number, let source = state.source else { return false }
      source.cancel()
      state.source = nil
      return true
    }
  }

  /// Drops the alarm that is armed, if there is one.
  package func disarm() {
    state.withLock { state in
      state.source?.cancel()
      state.source = nil
    }
  }

  /// Drops the alarm that is armed, and ignores every later one.
  package func cancel() {
    state.withLock { state in
      state.isCancelled = true
      state.source?.cancel()
      state.source = nil
    }
  }
}

extension DispatchTimeInterval {
  /// A duration, at most some 280 years.
  package init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self = .nanoseconds(Int(min(seconds, 9_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000))
  }
}

extension DispatchTime {
  /// The moment after a duration from now.
  package init(after duration: Duration) { self = .now() + DispatchTimeInterval(duration) }
}

extension DispatchQueue {
  /// Runs work after a delay; for work that is never to be taken back, and of which any number may be waiting.
  package func async(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
    asyncAfter(deadline: .now() + DispatchTimeInterval(delay), execute: work)
  }
}
