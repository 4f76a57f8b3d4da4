package import JSONText

/// The reply of `GET /v1/fleet`: the hosts that share a database, as it shows them now.
package struct FleetReply: Decodable, Sendable {
  /// A host that has joined; one that has gone is the last one under its root.
  package struct Host: Decodable, Sendable {
    package let number: Int
    /// The host's name and the path of its spool.
    package let spool: String
    package let slots: Int
    package let running: Int
    /// The time since its last beat, by the database's clock, or since its end.
    package let silenceSeconds: Double
    package let isLead: Bool
    package let isAlive: Bool
    /// True if it is given no jobs until an operator says so.
    package let isDrained: Bool
    /// The number of unfinished jobs that only it can run.
    package let boundJobs: Int
    package let places: [String]
    /// The version of its release.
    package let release: String
    /// The oldest and the newest format of the fleet's ledger in which it works.
    package let oldestFormat, newestFormat: Int

    package init(
      number: Int, spool: String, slots: Int, running: Int, silenceSeconds: Double, isLead: Bool, isAlive: Bool,
      isDrained: Bool, boundJobs: Int, places: [String], release: String, oldestFormat: Int, newestFormat: Int
    ) {
      self.number = number
      self.spool = spool
      self.slots = slots
      self.running = running
      self.silenceSeconds = silenceSeconds
      self.isLead = isLead
      self.isAlive = isAlive
      self.isDrained = isDrained
      self.boundJobs = boundJobs
      self.places = places
      self.release = release
      self.oldestFormat = oldestFormat
      self.newestFormat = newestFormat
    }

    fileprivate var json: JSONValue {
      .object([
        "number": .whole(number), "spool": .string(spool), "slots": .whole(slots), "running": .whole(running),
        "silenceSeconds": .number(silenceSeconds), "isLead": .bool(isLead), "isAlive": .bool(isAlive),
        "isDrained": .bool(isDrained), "boundJobs": .whole(boundJobs),
        "places": .array(places.map(JSONValue.string)), "release": .string(release),
        "oldestFormat": .whole(oldestFormat), "newestFormat": .whole(newestFormat),
      ])
    }
  }

  /// A type, with a place, that waiting jobs have and no host takes.
  package struct Need: Decodable, Sendable {
    package let type: String
    package let place: String?
    /// The number of the jobs.
    package let jobs: Int
    package let reason: String

    package init(type: String, place: String?, jobs: Int, reason: String) {
      (self.type, self.place, self.jobs, self.reason) = (type, place, jobs, reason)
    }

    fileprivate var json: JSONValue {
      .object(["type": .string(type), "place": .text(place), "jobs": .whole(jobs), "reason": .string(reason)])
    }
  }

  /// The number of this host.
  package let host: Int
  /// The number of leads that there have been.
  package let term: Int
  /// The format of the ledger, in which all hosts work.
  package let format: Int
  /// Durability of what has ended: `replicated` if commits wait for a synchronous standby, else `local`.
  package let durability: String
  package let hosts: [Host]
  /// The number of unfinished jobs of the whole fleet, by state.
  package let jobs: [String: Int]
  package let unmet: [Need]

  package init(
    host: Int, term: Int, format: Int, durability: String, hosts: [Host], jobs: [String: Int], unmet: [Need]
  ) {
    self.host = host
    self.term = term
    self.format = format
    self.durability = durability
    self.hosts = hosts
    self.jobs = jobs
    self.unmet = unmet
  }

  package var json: JSONValue {
    .object([
      "host": .whole(host), "term": .whole(term), "format": .whole(format),
      "durability": .string(durability), "jobs": .counts(jobs), "hosts": .array(hosts.map(\.json)),
      "unmet": .array(unmet.map(\.json)),
    ])
  }
}

/// The reply of `POST /v1/fleet/drain`, `undrain` and `remove`.
package struct HostReply: Decodable, Sendable {
  /// The host's name and the path of its spool.
  package let spool: String
  package let isDrained: Bool?
  /// The number of jobs that only a host that was removed could run; nil if none was.
  package let jobs: Int?

  package init(spool: String, isDrained: Bool? = nil, jobs: Int? = nil) {
    (self.spool, self.isDrained, self.jobs) = (spool, isDrained, jobs)
  }

  package var json: JSONValue {
    .object(["spool": .string(spool), "isDrained": isDrained.map(JSONValue.bool) ?? .null, "jobs": .whole(jobs)])
  }
}

/// The reply of `POST /v1/fleet/finish-upgrade`.
package struct UpgradeReply: Decodable, Sendable {
  /// A host that stands in the way of a newer format.
  package struct Host: Decodable, Sendable {
    /// The host's name and the path of its spool.
    package let spool: String
    package let release: String

    package init(spool: String, release: String) { (self.spool, self.release) = (spool, release) }

    fileprivate var json: JSONValue { .object(["spool": .string(spool), "release": .string(release)]) }
  }

  /// The format of the ledger before.
  package let format: Int
  /// The format from now on; the same if there is none that all living hosts know.
  package let newFormat: Int
  /// True if nothing was changed.
  package let isDryRun: Bool
  /// The living hosts that know no newer format than that, though others do.
  package let holdingBack: [Host]
  /// The hosts that are away, and are refused with their present release.
  package let shutOut: [Host]

  package init(format: Int, newFormat: Int, isDryRun: Bool, holdingBack: [Host], shutOut: [Host]) {
    self.format = format
    self.newFormat = newFormat
    self.isDryRun = isDryRun
    self.holdingBack = holdingBack
    self.shutOut = shutOut
  }

  package var json: JSONValue {
    .object([
      "format": .whole(format), "newFormat": .whole(newFormat), "isDryRun": .bool(isDryRun),
      "holdingBack": .array(holdingBack.map(\.json)), "shutOut": .array(shutOut.map(\.json)),
    ])
  }
}
