/// The times by which the hosts of a fleet live and die, in milliseconds.
package struct FleetTimes: Sendable {
  /// The time from an answered beat to the next.
  package var beat: Int64 = 700
  /// The time from what happens to the next beat, which each one that tells of nothing doubles, up to ``beat``; nil where
  /// hints tell what there is to read.
  package var ask: Int64?
  /// A host that has had no beat answered for so long, counted from when it was sent, starts nothing any more.
  package var stop: Int64 = 2_700
  /// A host whose last beat is so old, by the server's clock, is fenced by one that has had the database itself for so
  /// long.
  package var fence: Int64 = 3_500
  /// A pause between two answered beats that counts as an absence of the database.
  package var gap: Int64 = 1_500
  /// Candidates for a dead lead's place wait up to so long, so that they don't come together.
  package var jitter: Int64 = 50
  /// The longest pause between two rounds of the lead: a millisecond for each job that the last one was about, none for one.
  package var round: Int64 = 10
  /// The time after which the lead asks which transactions write news, if an old one is still under way.
  package var writerPatience: Int64 = 30_000
  /// The time after which a request that met no database is made again.
  package var retry: Int64 = 200
  /// The transactions of one slot, before it is replaced by a new one; old versions of its row are left behind.
  package var slotLife: Int64 = 1_000
  /// The jobs that a new lead reads at a time: it makes a round before it reads more.
  package var jobsAtOnce = 10_000

  package init() {}

  /// The same for a host that hears no hints.
  package var withoutHints: FleetTimes {
    var times = self
    times.ask = 20
    return times
  }
}
