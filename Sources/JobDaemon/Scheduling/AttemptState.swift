import TextSupport

/// The state machine of a running attempt: who ends it, for which reason, and what its alarm means.
///
/// A value without clock, task or record: each event returns what follows from it. The table of its states is in
/// Documentation/JobStates.md.
struct AttemptState {
  /// The phases; which events lead from one to another is in the table.
  enum Phase: Equatable {
    /// The job's record is being read; there is no handler yet.
    case starting
    /// The handler runs, or is about to.
    case running
    /// The right to record the outcome is claimed, by the worker or, if the attempt was abandoned, by the alarm.
    case ended(isAbandoned: Bool)
  }

  /// The reason why an attempt is to end before its handler is done.
  enum Stop: Sendable, Equatable, CustomStringConvertible {
    /// The job is cancelled; the text says by whom and why.
    case cancelled(String)
    /// The job is held.
    case held
    /// It has reached its timeout.
    case timedOut(Duration)
    /// The daemon ends.
    case shutdown

    /// An operator's command outweighs the clock and the daemon's end.
    fileprivate var weight: Int {
      switch self {
      case .cancelled: 3
      case .held: 2
      case .timedOut, .shutdown: 1
      }
    }

    var description: String {
      switch self {
      case .cancelled(let reason): reason
      case .held: "it is to be held"
      case .timedOut(let limit): "it took longer than \(TimeSpan.print(limit))"
      case .shutdown: "the daemon is stopping"
      }
    }
  }

  /// An action that an attempt's alarm asks for.
  enum AlarmAction: Equatable {
    case nothing
    /// Arm the alarm again, after a time.
    case remind(after: Duration)
    /// Cancel the handler's task, and arm the alarm for the time that it has to end.
    case cancel(remindAfter: Duration)
    /// Record the end in the place of the worker, and replace that: the handler ignores its cancellation.
    case abandon
  }

  private(set) var phase = Phase.starting
  /// The reason that counts, and the time at which the attempt was told to end for it.
  private(set) var stop: (reason: Stop, time: ContinuousClock.Instant)?

  /// True once another than the worker has claimed the end.
  var isAbandoned: Bool { phase == .ended(isAbandoned: true) }

  /// Notes that the record has been read, so that there is a handler to be watched.
  mutating func start() { if phase == .starting { phase = .running } }

  /// Tells the attempt to end; the heaviest reason counts, and of two equal ones the first.
  ///
  /// - Returns: true if this reason counts; false once the attempt has ended.
  mutating func stop(_ reason: Stop, at now: ContinuousClock.Instant) -> Bool {
    if case .ended = phase { return false }
    guard reason.weight > stop?.reason.weight ?? 0 else { return false }
    stop = (reason, now)
    return true
  }

  /// Claims the right to record the outcome; false if it is claimed already.
  mutating func claimEnd() -> Bool { end(isAbandoned: false) }

  /// Claims the end of an attempt whose handler does not end though the daemon does; false if it is claimed already.
  mutating func abandon() -> Bool { end(isAbandoned: true) }

  private mutating func end(isAbandoned: Bool) -> Bool {
    if case .ended = phase { return false }
    phase = .ended(isAbandoned: isAbandoned)
    return true
  }

  /// Decides what an alarm means. Alarms are never disarmed, so one may come too early, or after the end.
  ///
  /// - Parameters:
  ///   - timeLeft: the time that it may still work; nil while it waits, as the end of the wait arms another alarm.
  ///   - timeout: the time that it may work in all.
  ///   - stopLimit: the time that the handler has to end once it was told to.
  mutating func alarm(
    timeLeft: Duration?, timeout: Duration, stopLimit: Duration, at now: ContinuousClock.Instant
  ) -> AlarmAction {
    guard phase == .running else { return .nothing }
    if let stop {
      let left = stopLimit - stop.time.duration(to: now)
      if left > .zero { return .remind(after: left) }
      // The daemon's end waits for handlers, and abandons them, itself.
      if stop.reason == .shutdown { return .nothing }
      phase = .ended(isAbandoned: true)
      return .abandon
    }
    guard let timeLeft else { return .nothing }
    if timeLeft > .zero { return .remind(after: timeLeft) }
    stop = (.timedOut(timeout), now)
    return .cancel(remindAfter: stopLimit)
  }
}
