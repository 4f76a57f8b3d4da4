package import Jobs

/// The fleet as people want to see it.
package struct FleetOverview: Sendable, Equatable {
  /// A host that is alive, or the last one that was under its root.
  package struct Host: Sendable, Equatable {
    package let number: Int
    package let root: String
    package let slots: Int
    package let types: Set<String>
    package let places: Set<String>
    package let isAlive: Bool
    /// True if it is given no jobs until an operator says so.
    package let isDrained: Bool
    /// The milliseconds since its last beat, or since its end, by the server's clock.
    package let silence: Int64
    package let runCount: Int
    /// The version of its release.
    package let release: String
    /// The formats of the ledger in which it works.
    package let formats: ClosedRange<Int>

    package init(
      number: Int, root: String, slots: Int, types: Set<String>, places: Set<String>, isAlive: Bool = true,
      isDrained: Bool = false, silence: Int64 = 0, runCount: Int = 0, release: String = "",
      formats: ClosedRange<Int> = 1...1
    ) {
      self.number = number
      self.root = root
      self.slots = slots
      self.types = types
      self.places = places
      self.isAlive = isAlive
      self.isDrained = isDrained
      self.silence = silence
      self.runCount = runCount
      self.release = release
      self.formats = formats
    }

    /// True if it would be given a job with these needs, once it has a free worker.
    package func takes(type: String, place: String?) -> Bool {
      isAlive && !isDrained && types.contains(type) && (place.map(places.contains) ?? true)
    }
  }

  /// The number of unfinished jobs that are in one state and ask the same of their hosts.
  package struct NeedCount: Sendable, Equatable {
    /// The state on record; what runs counts as running.
    package let state: JobState
    package let type: String
    package let place: String?
    package let count: Int

    package init(state: JobState, type: String, place: String?, count: Int) {
      self.state = state
      self.type = type
      self.place = place
      self.count = count
    }
  }

  package let term: Int64
  package let lead: Int?
  /// The format of the ledger, in which all hosts work.
  package let format: Int
  /// True if commits wait for a synchronous standby, so that a failover to it loses nothing.
  package let isReplicated: Bool
  /// The hosts by number, one for each root.
  package let hosts: [Host]
  package let needs: [NeedCount]

  package init(
    term: Int64, lead: Int?, format: Int = 1, isReplicated: Bool = false, hosts: [Host], needs: [NeedCount]
  ) {
    self.term = term
    self.lead = lead
    self.format = format
    self.isReplicated = isReplicated
    self.hosts = hosts
    self.needs = needs
  }

  /// The number of unfinished jobs in each state.
  package var jobs: [JobState: Int] { needs.reduce(into: [:]) { $0[$1.state, default: 0] += $1.count } }

  /// The number of unfinished jobs that only the host of a root can run.
  package func boundCount(of root: String) -> Int {
    needs.reduce(0) { $0 + (FleetPlace($1.place)?.spool == root || $1.place == root ? $1.count : 0) }
  }

  /// The needs of waiting jobs that no host meets, the most frequent first.
  package var unmet: [(type: String, place: String?, count: Int)] {
    struct Need: Hashable {
      let type: String
      let place: String?
    }
    var counts: [Need: Int] = [:]
    for need in needs where need.state != .running && need.state != .held {
      if hosts.contains(where: { $0.takes(type: need.type, place: need.place) }) { continue }
      counts[Need(type: need.type, place: need.place), default: 0] += need.count
    }
    return counts.map { ($0.key.type, $0.key.place, $0.value) }
      .sorted { ($1.2, $0.0, $0.1 ?? "") < ($0.2, $1.0, $1.1 ?? "") }
  }
}
