package import JSONText

/// The reply of `GET /v1/fleet`: the hosts that share a database, as it shows them now.
package struct FleetReply: Decodable, Sendable {
  /// A host that has joined; one that has gone stays for as long as its jobs are not all given to others.
  package struct Host: Decodable, Sendable {
    package let number: Int
    /// The host's name and the path of its spool.
    package let spool: String
    package let slots: Int
    package let running: Int
    /// The time since its last beat, by the database's clock.
    package let silenceSeconds: Double
    package let isLead: Bool
    package let places: [String]

    package init(
      number: Int, spool: String, slots: Int, running: Int, silenceSeconds: Double, isLead: Bool, places: [String]
    ) {
      self.number = number
      self.spool = spool
      self.slots = slots
      self.running = running
      self.silenceSeconds = silenceSeconds
      self.isLead = isLead
      self.places = places
    }
  }

  /// The number of this host.
  package let host: Int
  /// The number of leads that there have been.
  package let term: Int
  package let hosts: [Host]
  /// The number of unfinished jobs of the whole fleet, by state.
  package let jobs: [String: Int]

  package init(host: Int, term: Int, hosts: [Host], jobs: [String: Int]) {
    self.host = host
    self.term = term
    self.hosts = hosts
    self.jobs = jobs
  }

  package var json: JSONValue {
    .object([
      "host": .integer(Int64(host)), "term": .integer(Int64(term)), "jobs": .counts(jobs),
      "hosts": .array(
        hosts.map { host in
          .object([
            "number": .integer(Int64(host.number)), "spool": .string(host.spool), "slots": .integer(Int64(host.slots)),
            "running": .integer(Int64(host.running)), "silenceSeconds": .number(host.silenceSeconds),
            "isLead": .bool(host.isLead), "places": .array(host.places.map(JSONValue.string)),
          ])
        }),
    ])
  }
}
