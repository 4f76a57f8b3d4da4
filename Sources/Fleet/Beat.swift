package import JobSchedule

/// Numbers up to which a host has read what a beat tells of, and below which nothing comes late.
package struct BeatFloors: Sendable, Equatable {
  package var runs: Int64 = 0
  /// Number of the last news, for the lead.
  package var news: Int64 = 0
  package var outcomes: Int64 = 0

  package init() {}
}

/// The server that answers, as far as it matters what it knows after a failover.
package struct LedgerServer: Sendable, Equatable {
  /// The number of its history: another one after a failover, and after a backup was brought back.
  package let timeline: Int64
  /// True if commits wait for a synchronous standby, so that a failover to it loses nothing that was answered.
  package let isReplicated: Bool

  package init(timeline: Int64, isReplicated: Bool) {
    self.timeline = timeline
    self.isReplicated = isReplicated
  }
}

/// The log of the server that answers, in bytes, and how far its standbys have followed it.
package struct LedgerLog: Sendable, Equatable {
  /// The end of what is written to it, behind everything that was answered before.
  package var position: Int64 = 0
  /// The place up to which all standbys have it on disk; nil if none tells one.
  package var followedTo: Int64?
  /// The number of standbys that follow, synchronous or not; of all that receive the log where they are hidden.
  package var standbyCount = 0
  /// True if this role may not see which standbys there are.
  package var isHidden = false

  package init() {}
}

/// The answer to a beat: how the fleet is, by the server's clock.
package struct Beat: Sendable {
  /// The server's time, in milliseconds since 1970.
  package var time: Int64
  package var server: LedgerServer
  package var log = LedgerLog()
  package var term: Int64
  package var lead: Int?
  /// The milliseconds since the lead's last beat; nil if nobody alive leads.
  package var leadSilence: Int64?
  /// The longest silence of a host that is alive, and the hosts in its order, the most silent first; for the lead only.
  package var silences: [(host: Int, time: Int64)]
  /// The number of runs of the host that beats, above its floor.
  package var runCount: Int
  /// The number of all of its runs that are told to end.
  package var stopCount: Int
  /// The number of the last news above the floor, if there are any; for the lead only.
  package var news: Int64?
  /// The number of the last end of jobs of the host's spool that it has not forgotten yet, above the floor.
  package var outcome: Int64?
  /// The resources that operators have paused, and the hosts that they have drained.
  package var paused: Set<Resource.Name>

  package init(
    time: Int64, server: LedgerServer, term: Int64, lead: Int?, leadSilence: Int64?,
    silences: [(host: Int, time: Int64)], runCount: Int,
    stopCount: Int = 0, news: Int64? = nil, outcome: Int64? = nil, paused: Set<Resource.Name> = []
  ) {
    self.time = time
    self.server = server
    self.term = term
    self.lead = lead
    self.leadSilence = leadSilence
    self.silences = silences
    self.runCount = runCount
    self.stopCount = stopCount
    self.news = news
    self.outcome = outcome
    self.paused = paused
  }

  /// True if there are runs to read, or orders to end some, beside those that are known.
  func hasRuns(besides knownStops: Int) -> Bool { runCount > 0 || stopCount > knownStops }
}
