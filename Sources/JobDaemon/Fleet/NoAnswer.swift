import Foundation

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

  var description: String {
    "the fleet's database has not answered since \(since.formatted(Date.ISO8601FormatStyle()))"
  }
}
