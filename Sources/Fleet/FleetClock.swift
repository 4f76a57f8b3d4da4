package import JobSchedule

/// The time of the fleet, which is its database's: a host goes by it in all that it shares with others, whatever its own
/// wall clock shows.
///
/// An answer tells the server's time at a moment between its request and its arrival; between answers the host's steady
/// clock counts on. What can't be known better errs on the late side, so that nothing begins before its time.
package struct FleetClock: Sendable {
  /// The milliseconds from the steady clock to the server's.
  private var offset: Int64

  /// - Parameters:
  ///   - time: the server's time, in milliseconds since 1970, as an answer tells it.
  ///   - received: the time of that answer on the host's steady clock.
  package init(serverTime time: Int64, receivedAt received: Int64) { offset = time - received }

  /// Takes in what another answer tells, as far as it contradicts what is known.
  package mutating func note(serverTime time: Int64, sentAt sent: Int64, receivedAt received: Int64) {
    offset = min(max(offset, time - received), time - sent)
  }

  /// A moment of the host's steady clock in the time of the fleet.
  package func moment(at steady: Int64) -> Moment { Moment(steady: steady, wall: steady + offset) }
}
