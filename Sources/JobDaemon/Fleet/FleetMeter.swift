import Fleet
import Foundation
import Synchronization

/// The fleet as the last beat of this host found it, in numbers.
final class FleetMeter: Sendable {
  struct Figures: Sendable {
    /// The number of leads that there have been.
    var term: Int64 = 0
    /// The number of hosts that are alive, which only the lead knows.
    var members: Int?
    /// True if commits wait for a synchronous standby.
    var isReplicated = false
    /// The time of the first beat without an answer, while the database does not answer.
    var awaySince: Date?
    /// The reason for that, as far as it is known.
    var awayReason: String?

    var isAway: Bool { awaySince != nil }
  }

  /// The word for the durability of what a database has answered.
  static func durability(isReplicated: Bool) -> String { isReplicated ? "replicated" : "local" }

  private let state = Mutex(Figures())

  var figures: Figures { state.withLock { $0 } }

  /// Notes a beat that was answered; returns true if the one before was not.
  func note(_ beat: Beat, ofLead isLead: Bool) -> Bool {
    state.withLock { figures in
      // The lead is told of the others.
      defer {
        figures = Figures(
          term: beat.term, members: isLead ? beat.silences.count + 1 : nil, isReplicated: beat.server.isReplicated)
      }
      return figures.isAway
    }
  }

  /// Notes a beat without an answer; returns true if the one before had none either.
  ///
  /// - Parameter reason: the reason in words, as far as it is known.
  func noteMissedBeat(because reason: String?) -> Bool {
    state.withLock { figures in
      defer {
        figures.awaySince = figures.awaySince ?? Date()
        figures.awayReason = reason ?? figures.awayReason
      }
      return figures.isAway
    }
  }
}
