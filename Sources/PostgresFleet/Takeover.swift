import Fleet
import PostgresStore
import SQLGeneration
import StoreInterface

/// The end of hosts that are certainly gone, or whose silence decides.
struct Takeover {
  /// A query for the numbers of the hosts; a parameter of its own is `$1`.
  private let hosts: String
  private let values: [SQLBinding]
  /// The beginning of the names of the fleet's sessions.
  private let fleet: String

  private init(_ hosts: String, _ values: [SQLBinding], fleet: String) {
    self.hosts = hosts
    self.values = values
    self.fleet = fleet
  }

  /// The place of the statement that answers the runs, among ``requests(first:)``.
  static let runsPlace = 5

  /// One host that has been silent for so long, or else it is refused.
  static func silent(_ host: Int, for silence: Silence, fleet: String) -> [Request] {
    let takeover = Takeover("SELECT $1::bigint", [.integer(host)], fleet: fleet)
    return takeover.requests(first: takeover.deleteBeats(silentFor: silence, "1"))
  }

  /// The lead, if it is alive and has been silent for so long; refused if it has not. The row of the lead is locked.
  static func lead(silentFor silence: Silence, fleet: String) -> [Request] {
    let alive = "SELECT h.number FROM _host AS h JOIN _lead AS l ON l.host = h.number WHERE h.state = 'alive'"
    let takeover = Takeover(alive, [], fleet: fleet)
    return takeover.requests(first: takeover.deleteBeats(silentFor: silence, "(SELECT count(*) FROM (\(alive)) AS a)"))
  }

  /// All that are alive under a root, whose lock the caller holds; the lead is told.
  ///
  /// - Parameters:
  ///   - host: the only one that is meant; nil for all.
  ///   - sparesIdle: true to end only backends that are at work; a host that leaves by itself closes its store later.
  static func burial(
    under root: String, of host: Int? = nil, fleet: String, sparesIdle: Bool = false
  ) -> [Request] {
    let alive = "SELECT number FROM _host WHERE root = $1 AND state = 'alive'"
    let takeover =
      if let host {
        Takeover(alive + " AND number = $2", [.text(root), .integer(host)], fleet: fleet)
      } else {
        Takeover(alive, [.text(root)], fleet: fleet)
      }
    let beats = Request("DELETE FROM _beat WHERE host IN (\(takeover.hosts))", takeover.values)
    let news = Request(
      "INSERT INTO _inbox (kind, host) SELECT 'buried', number FROM (\(takeover.hosts)) AS h ORDER BY number",
      takeover.values)
    return takeover.requests(first: beats, last: [news], sparesIdle: sparesIdle)
  }

  /// The decision: a beat waits for its host's row, and then finds none.
  private func deleteBeats(silentFor silence: Silence, _ expected: String) -> Request {
    Request(
      """
      WITH gone AS (DELETE FROM _beat WHERE host IN (\(hosts)) \
      AND seen <= least(now(), to_timestamp($\(values.count + 2)::bigint / 1000.0)) \
      - $\(values.count + 1)::bigint * interval '1 millisecond' RETURNING 1) \
      SELECT \(LedgerStatements.demand("count(*) = \(expected)", LedgerStatements.refused)) FROM gone
      """, values + [.integer(silence.length), silence.end.map(SQLBinding.integer) ?? .null])
  }

  /// The statements in this order: ending the backends frees what a silent host has locked; the host's row keeps a new
  /// slot from being made meanwhile; and who has still written when its session goes has ended its runs.
  private func requests(first: Request, last: [Request] = [], sparesIdle: Bool = false) -> [Request] {
    let prefix = "$\(values.count + 1)"
    return [
      first,
      Request(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
        AND usename = current_user AND pid <> pg_backend_pid() AND split_part(application_name, '/', 1) = \(prefix) \
        AND split_part(application_name, '/', 2) IN (SELECT h.number::text FROM (\(hosts)) AS h (number))\
        \(sparesIdle ? " AND state <> 'idle'" : "")
        """, values + [.text(fleet)]),
      Request("SELECT 1 FROM _host WHERE number IN (\(hosts)) FOR UPDATE", values),
      Request("DELETE FROM _session WHERE host IN (\(hosts))", values),
      Request("DELETE FROM _order WHERE host IN (\(hosts))", values),
      JobRows.deleteRuns(ofHosts: hosts, values),
    ] + last + [
      Request("UPDATE _host SET state = 'lost', ended = now() WHERE number IN (\(hosts)) AND state = 'alive'", values)
    ]
  }
}
