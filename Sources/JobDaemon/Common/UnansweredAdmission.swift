import SystemSupport

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
