import Foundation
import SystemSupport

/// The lead of the fleet has not answered: nobody leads at the moment, or the database is away.
struct NoAnswer: Error, CustomStringConvertible {
  var description = "no host leads the fleet at the moment, or its database is away"

  static let otherRelease = NoAnswer(
    description: "the host that leads the fleet is of another release, which does not understand this; upgrade both")
}

/// The fleet's database refuses something, now and later.
struct RefusedByServer: Error, CustomStringConvertible {
  let description: String
}

/// The fleet's database does not answer, as beats have found out.
struct DatabaseAbsence: Error, CustomStringConvertible {
  let since: Date
  /// The reason in words, as far as it is known.
  let reason: String?

  var description: String {
    "the fleet's database has not answered since \(since.formatted(Date.ISO8601FormatStyle()))"
      + (reason.map { ": \($0)" } ?? "")
  }
}

/// Jobs whose admission has had no answer in time: they may be in the ledger, or come into it.
struct UnansweredAdmission: Error, CustomStringConvertible {
  /// The IDs of the jobs that a client can ask for then, at most.
  private static let toldIDs = 10

  let ids: [String]

  var description: String {
    let told = ids.prefix(Self.toldIDs).map { "\"\(displayName($0))\"" }.joined(separator: ", ")
    let more = ids.count > Self.toldIDs ? " and \(ids.count - Self.toldIDs) more" : ""
    return "the fleet's database did not answer in time, and may have the jobs \(told)\(more) already"
  }
}
