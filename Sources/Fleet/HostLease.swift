/// A host's right to work, as far as the host itself can tell: by its own clock, from beats that were answered.
///
/// The server counts a beat from when it arrives, and the host from when it was sent, so the host always stops first.
package struct HostLease: Sendable {
  /// The phases of a lease.
  package enum Phase: Sendable, Equatable {
    /// Everything; leads to ``doubtful`` with time, and to ``fenced``.
    case alive
    /// It may have been fenced: it starts and publishes nothing; leads to ``alive`` with an answered beat.
    case doubtful
    /// Others have its work: it writes nothing more, and ends.
    case fenced
  }

  private let times: FleetTimes
  /// The time at which the last answered beat was sent.
  private var lastSent: Int64
  /// The time since which every beat has been answered.
  private var presentSince: Int64
  private var hasMissed = false
  private var isFenced = false

  /// - Parameter time: the time at which the host asked to join, on its steady clock, in milliseconds.
  package init(joinSentAt time: Int64, times: FleetTimes) {
    self.times = times
    lastSent = time
    presentSince = time
  }

  /// The phase at a time.
  package func phase(at now: Int64) -> Phase {
    if isFenced { return .fenced }
    return now - lastSent < times.stop ? .alive : .doubtful
  }

  /// The time at which it becomes doubtful, unless another beat is answered.
  package var end: Int64 { lastSent + times.stop }

  /// The time for which the database has been there: the silence of others counts only as far.
  package func presence(at now: Int64) -> Int64 {
    phase(at: now) == .alive && !hasMissed ? now - presentSince : 0
  }

  /// Notes that a beat was answered.
  package mutating func noteAnswer(toBeatSentAt sent: Int64) {
    if sent < lastSent { return }
    // A host that was stopped itself has noticed no absence; but it can't know that there was none.
    if hasMissed || sent - lastSent > times.gap { presentSince = sent }
    hasMissed = false
    lastSent = sent
  }

  /// Notes that a beat had no answer.
  package mutating func noteMissedBeat() { hasMissed = true }

  /// Notes that the server has told of the end.
  package mutating func noteFence() { isFenced = true }
}
