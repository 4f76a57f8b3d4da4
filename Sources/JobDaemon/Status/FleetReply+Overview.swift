import Fleet
import StatusReplies

extension FleetReply {
  /// The fleet as the status interface shows it: what is assigned to a host and waits for a worker there is available.
  ///
  /// - Parameter host: the number of the host that answers.
  init(_ overview: FleetOverview, host: Int) {
    var jobs = overview.jobs
    let waiting = overview.hosts.reduce(0) { $0 + max(0, $1.runCount - $1.slots) }
    if waiting > 0 {
      jobs[.running, default: 0] -= waiting
      jobs[.available, default: 0] += waiting
    }
    self.init(
      host: host, term: Int(overview.term),
      hosts: overview.hosts.map { one in
        Host(
          number: one.number, spool: one.root, slots: one.slots, running: min(one.runCount, one.slots),
          silenceSeconds: Double(one.silence) / 1000, isLead: one.number == overview.lead,
          places: one.places.subtracting([one.root]).sorted())
      },
      jobs: Dictionary(uniqueKeysWithValues: jobs.map { ($0.key.rawValue, $0.value) }))
  }
}
