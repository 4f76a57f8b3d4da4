import Fleet
import StatusReplies

extension FleetReply {
  /// The fleet as the status interface shows it.
  ///
  /// - Parameter host: the number of the host that answers.
  init(_ overview: FleetOverview, host: Int) {
    self.init(
      host: host, term: Int(overview.term),
      hosts: overview.hosts.map { one in
        Host(
          number: one.number, spool: one.root, slots: one.slots, running: one.runCount,
          silenceSeconds: Double(one.silence) / 1000, isLead: one.number == overview.lead,
          places: one.places.subtracting([one.root]).sorted())
      },
      jobs: Dictionary(uniqueKeysWithValues: overview.jobs.map { ($0.key.rawValue, $0.value) }))
  }
}
