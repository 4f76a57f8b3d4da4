import Fleet
import Jobs
import PostgresFleet
import StatusReplies

extension FleetReply {
  /// The seconds for which a host that is gone is shown, though nothing waits for it.
  private static let longestAbsence: Double = 7 * 86_400

  /// The places of a host that its spool does not tell: those that it offers, and its users.
  private static func places(of host: FleetOverview.Host) -> [String] {
    host.places.filter { name in
      guard name != host.root, let place = FleetPlace(name) else { return false }
      return place.spool == nil && (place.offered == nil || place.userDomain == nil)
    }.sorted()
  }

  /// The fleet as the status interface shows it: what is assigned to a host and waits for a worker there is available.
  ///
  /// - Parameters:
  ///   - waiting: the numbers of jobs that wait for others and for their time; nil if only their records tell, in which those
  ///     that wait for others are available.
  ///   - host: the number of the host that answers.
  init(_ overview: FleetOverview, waiting: [JobState: Int]?, host: Int) {
    var jobs = overview.jobs
    let assigned = min(jobs[.running] ?? 0, overview.hosts.reduce(0) { $0 + max(0, $1.runCount - $1.slots) })
    if assigned > 0 {
      jobs[.running, default: 0] -= assigned
      jobs[.available, default: 0] += assigned
    }
    if let waiting {
      let notBegun = (jobs[.available] ?? 0) + (jobs[.scheduled] ?? 0)
      jobs.merge(waiting) { $1 }
      jobs[.available] = max(0, notBegun - waiting.values.reduce(0, +))
    }
    let hosts = overview.hosts.map { one in
      Host(
        number: one.number, spool: one.root, slots: one.slots, running: min(one.runCount, one.slots),
        silenceSeconds: Double(one.silence) / 1000, isLead: one.isAlive && one.number == overview.lead,
        isAlive: one.isAlive, isDrained: one.isDrained, boundJobs: overview.boundCount(of: one.root),
        places: Self.places(of: one), release: one.release,
        oldestFormat: one.formats.lowerBound, newestFormat: one.formats.upperBound)
    }
    self.init(
      host: host, term: Int(overview.term), format: overview.format,
      durability: FleetMeter.durability(isReplicated: overview.isReplicated),
      hosts: hosts.filter { $0.isAlive || $0.isDrained || $0.boundJobs > 0 || $0.silenceSeconds < Self.longestAbsence },
      jobs: Dictionary(uniqueKeysWithValues: jobs.filter { $0.value > 0 }.map { ($0.key.rawValue, $0.value) }),
      unmet: overview.unmet.map { need in
        Need(
          type: need.type, place: need.place, jobs: need.count,
          reason: HostNeed(type: need.type, place: need.place, hosts: overview.hosts).reason)
      })
  }
}

extension UpgradeReply {
  init(_ end: UpgradeEnd, isTrial: Bool) {
    func named(_ hosts: [AnnouncedHost]) -> [Host] { hosts.map { Host(spool: $0.root, release: $0.release) } }
    self.init(
      format: end.old, newFormat: end.new, isDryRun: isTrial, holdingBack: named(end.holdingBack),
      shutOut: named(end.shutOut))
  }
}
