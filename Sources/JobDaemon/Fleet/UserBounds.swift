import Configuration
import Fleet
import Jobs

/// The bounds within which a host acts on the numbers of users that other hosts of its fleet have written.
///
/// Whoever can write to the fleet's database can write any number there. So this is judged here, and not by who assigns jobs.
struct UserBounds {
  let configuration: Configuration.Fleet
  /// The root of this host's spool.
  let spool: String

  /// The reason why a job is not run here of which only the database knows where it came from; nil if it may be.
  ///
  /// - Parameters:
  ///   - origin: the root of the spool that it came to.
  ///   - place: the place that it asks for.
  func refusal(submitter: Int64, origin: String?, place: String?, namesFiles: @autoclosure () -> Bool)
    -> String?
  {
    let from = origin.map { " of the host \($0)" } ?? ""
    let bounds = configuration.runsAs
    if !bounds.isEmpty && !bounds.contains(where: { range in UInt32(exactly: submitter).map(range.contains) ?? false })
    {
      return "it came from the user \(submitter)\(from), for whom the host \(spool) runs no jobs of others; "
        + "[Fleet] RunsAs= there names the users, and `bobbinctl release` has it tried again"
    }
    let domain = configuration.userDomain
    if domain.isEmpty || origin == spool || FleetPlace(place)?.userDomain == domain || !namesFiles() { return nil }
    return
      "it names files, and the user \(submitter)\(from) may be another one on the host \(spool), whose users are those of "
      + "\(domain); give all hosts of the fleet a [Fleet] UserDomain=, and send the job again with \"replace\": true"
  }
}
