/// The time that an attempt has worked, without its waits for something that other jobs have.
struct WorkClock {
  private var start: ContinuousClock.Instant
  private var waited: Duration = .zero
  private var waitStart: ContinuousClock.Instant?

  init(at now: ContinuousClock.Instant) { start = now }

  /// True if the attempt waits.
  var isWaiting: Bool { waitStart != nil }

  /// Starts anew, as for an attempt that has not worked yet.
  mutating func restart(at now: ContinuousClock.Instant) { self = WorkClock(at: now) }

  /// Begins or ends a wait.
  ///
  /// - Returns: true if this ended one.
  mutating func setWaiting(_ waits: Bool, at now: ContinuousClock.Instant) -> Bool {
    guard let begun = waitStart else {
      if waits { waitStart = now }
      return false
    }
    if waits { return false }
    waited += begun.duration(to: now)
    waitStart = nil
    return true
  }

  func worked(at now: ContinuousClock.Instant) -> Duration { start.duration(to: waitStart ?? now) - waited }
}
