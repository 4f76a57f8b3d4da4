import Fleet
import JobSchedule
import PostgresStore
import SQLGeneration
import StoreInterface
import TextSupport

extension Request {
  init(_ sql: String, _ values: [SQLBinding]) { self.init(sql, Parameters(values)) }
}

extension SQLBinding {
  static func integer(_ number: Int) -> SQLBinding { .integer(Int64(number)) }
  static func integers(_ numbers: some Sequence<Int>) -> SQLBinding { .array(.integers(numbers.map(Int64.init))) }
  static func keys(_ numbers: [Int64]) -> SQLBinding { .array(.integers(numbers)) }
  static func texts(_ texts: some Sequence<String>) -> SQLBinding { .array(.texts(Array(texts))) }
}

/// Statements of the ledger's tables; what one of them demands and does not find ends its transaction, with nothing written.
enum LedgerStatements {
  /// The demand that nothing else has come in between: what is refused may be asked again.
  static let refused = StoreError.Code(rawValue: "refused")
  /// The first slot of a host's store: slots of members are numbered upwards, and those of stores downwards.
  static let firstStoreSlot = -1

  static func demand(_ condition: String, _ code: StoreError.Code) -> String {
    "_demand(\(condition), '\(code.rawValue)')"
  }

  // MARK: Sessions and beats

  /// The fence and the receipt of a transaction in one.
  ///
  /// - Parameter failure: the error if it does not hold.
  static func fence(_ receipt: Receipt, orElse failure: StoreError.Code = .stale) -> Request {
    var demands = demand("count(*) = 1", failure)
    var values: [SQLBinding] = [.integer(receipt.host), .integer(receipt.slot), .integer(receipt.number)]
    if let known = receipt.timeline {
      demands = demand("\(timeline) = $4", .setBack) + ", " + demands
      values.append(.integer(known))
    }
    return Request(
      """
      WITH held AS (UPDATE _session SET number = $3 WHERE host = $1 AND slot = $2 AND number = $3 - 1 RETURNING 1) \
      SELECT \(demands) FROM held
      """, values)
  }

  static func outcome(of receipt: Receipt) -> Request {
    Request(
      "SELECT number FROM _session WHERE host = $1 AND slot = $2 FOR UPDATE",
      [.integer(receipt.host), .integer(receipt.slot)])
  }

  /// The server's time, in milliseconds since 1970.
  static let time = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

  static func replaceSlot(_ host: Int, old: Int, new: Int) -> [Request] {
    [
      Request(
        """
        WITH alive AS (SELECT 1 FROM _host WHERE number = $1 AND state = 'alive' FOR UPDATE) \
        SELECT \(demand("count(*) = 1", .fenced)) FROM alive
        """, [.integer(host)]),
      // Where the old one is gone it was replaced before.
      Request(
        """
        WITH old AS (DELETE FROM _session WHERE host = $1 AND slot = $2 RETURNING host) \
        INSERT INTO _session (host, slot, number) SELECT host, $3, 0 FROM old
        """, [.integer(host), .integer(old), .integer(new)]),
    ]
  }

  /// The milliseconds since a beat.
  static func silence(_ table: String) -> String {
    "greatest(0, floor(extract(epoch FROM clock_timestamp() - \(table).seen) * 1000))::bigint"
  }

  /// The timeline of the server, as the names of its log's files tell it.
  private static let timeline = "('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint"
  /// True if commits of the session wait for a synchronous standby.
  private static let isReplicated = """
    current_setting('synchronous_standby_names') <> '' \
    AND current_setting('synchronous_commit') NOT IN ('off', 'local')
    """

  /// The end of the server's log, the place up to which all standbys have it, their number, and whether these are hidden.
  ///
  /// What only receives the log, as backups do, replays nothing; a logical subscriber is nobody to fail over to.
  static let log = Request(
    """
    SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, (min(s.flush_lsn) - '0/0'::pg_lsn)::bigint, count(s.pid), \
    r.isHidden FROM (SELECT NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS isHidden) AS r \
    LEFT JOIN pg_stat_get_wal_senders() AS s ON r.isHidden OR s.replay_lsn IS NOT NULL AND NOT EXISTS \
    (SELECT 1 FROM pg_replication_slots AS l WHERE l.active_pid = s.pid AND l.slot_type = 'logical') GROUP BY r.isHidden
    """)

  /// Reads which server this is.
  static let server = Request("SELECT \(timeline), \(isReplicated)")

  /// The statements of a beat: it is noted, and answers which server it is, the term, the lead with its silence, the
  /// numbers of new runs and of those told to end, the last of the news and of the outcomes, the time, to the lead who else has been silent
  /// for how long, and the pauses.
  ///
  /// A clock that was set back must not make hosts look alive until it has caught up. Rows that are gone stay in an index
  /// while somebody has an old snapshot open, so that the inbox and the outcomes are searched down to their floors only.
  ///
  /// A beat is not worth a wait for the disk or a standby: one that a crash of the server loses makes its host look silent
  /// for longer, and silence counts only for those who have had the database since.
  static func beat(_ host: Int, above floors: BeatFloors) -> [Request] {
    [
      Request(
        """
        UPDATE _beat SET seen = CASE WHEN seen > now() + interval '1 second' THEN now() ELSE greatest(seen, now()) END \
        WHERE host = $1 RETURNING \(timeline), \(isReplicated)
        """, [.integer(host)]),
      Request(
        """
        SELECT l.term, l.host, \(silence("b")), b.host IS NOT NULL, r.count, \
        r.stops, CASE WHEN l.host = $1 THEN (SELECT max(number) FROM _inbox WHERE number > $3) END, \
        (SELECT max(number) FROM _outcome WHERE spool = (SELECT root FROM _host WHERE number = $1) AND number > $4), \
        \(time), set_config('synchronous_commit', 'off', true) FROM _lead AS l LEFT JOIN _beat AS b ON b.host = l.host, \
        (SELECT (SELECT count(*) FROM _run WHERE host = $1 AND number > $2) AS count, \
        (SELECT count(*) FROM _run WHERE host = $1 AND stop IS NOT NULL) AS stops) AS r
        """, [.integer(host), .integer(floors.runs), .integer(floors.news), .integer(floors.outcomes)]),
      Request(
        """
        SELECT b.host, \(silence("b")) FROM _beat AS b JOIN _lead AS l ON l.host = $1 WHERE b.host <> $1 \
        ORDER BY b.seen, b.host
        """, [.integer(host)]), pauses, log,
    ]
  }

  static let pauses = Request("SELECT kind, name FROM _pause")

  // MARK: For people and spools

  static let lead = Request("SELECT term, host FROM _lead")

  /// Reads the type and the place of a job.
  static func need(ofJob key: Int64) -> Request {
    Request(#"SELECT "type", "place" FROM "Job" WHERE _key = $1"#, [.integer(key)])
  }

  static func outcomes(of spool: String, above floor: Int64, besides known: [Int64]) -> Request {
    Request(
      """
      SELECT o.number, j.key FROM _outcome AS o, unnest(o.jobs) AS j (key) \
      WHERE o.spool = $1 AND o.number > $2 AND o.number NOT IN (SELECT unnest($3)) ORDER BY o.number, j.key
      """, [.text(spool), .integer(floor), .keys(known)])
  }

  /// The transactions that this one is among; ahead of what is read, so that it has read what those that ended have left.
  ///
  /// - Parameters:
  ///   - table: the table of what is read.
  ///   - hasWriters: true to name the others that write to the table. Each has locked it since before it drew a number, and
  ///     until all see what it has committed; everybody may see locks.
  static func readHorizon(of table: String, withWriters hasWriters: Bool) -> Request {
    let writers =
      hasWriters
      ? """
      (SELECT coalesce(string_agg(l.virtualtransaction, ' '), '') FROM pg_locks AS l WHERE l.locktype = 'relation' \
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
      AND l.relation = '\(table)'::regclass AND l.mode = 'RowExclusiveLock' AND l.pid <> pg_backend_pid())
      """
      : "NULL::text"
    return Request(
      """
      SELECT pg_current_xact_id()::text::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint, \(timeline), \
      \(writers)
      """)
  }

  /// Tells spools which jobs of theirs are over, or held.
  static func tellSpools(of jobs: [(spool: String, job: ManagedObjectID)]) -> Request {
    Request(
      """
      INSERT INTO _outcome (spool, jobs) SELECT e.spool, array_agg(e.job ORDER BY e.job) \
      FROM unnest($1, $2) AS e (spool, job) GROUP BY e.spool
      """, [.texts(jobs.map(\.spool)), .keys(jobs.map(\.job.key))])
  }

  static func forgetOutcomes(_ numbers: [Int64]) -> Request {
    Request("DELETE FROM _outcome WHERE number = ANY($1)", [.keys(numbers)])
  }

  // MARK: The lead

  /// Locks the lead's row, if a host may become the lead after a term.
  static func candidacy(after term: Int64, of host: Int) -> Request {
    Request(
      """
      WITH open AS (SELECT 1 FROM _lead WHERE term = $1 AND host IS DISTINCT FROM $2 FOR UPDATE) \
      SELECT \(demand("count(*) = 1", refused)) FROM open
      """, [.integer(term), .integer(host)])
  }

  static func become(lead host: Int) -> Request {
    Request("UPDATE _lead SET term = term + 1, host = $1 RETURNING term", [.integer(host)])
  }

  // MARK: Runs

  static func runs(of host: Int, after number: Int64) -> [Request] {
    [
      Request(
        "SELECT job, host, attempt, number FROM _run WHERE host = $1 AND number > $2 ORDER BY number",
        [.integer(host), .integer(number)]),
      Request(
        "SELECT job, host, attempt, stop, reason FROM _run WHERE host = $1 AND stop IS NOT NULL ORDER BY job",
        [.integer(host)]),
    ]
  }

  static let allRuns = Request("SELECT job, host, attempt, stop, reason FROM _run ORDER BY job")

  /// The hosts that run jobs, and their attempts.
  static func runs(ofJobs keys: [Int64]) -> Request {
    Request(
      """
      SELECT r.job, h.root, r.attempt, r.stop IS NOT NULL, r.reason FROM _run AS r JOIN _host AS h ON h.number = r.host \
      WHERE r.job = ANY($1)
      """, [.keys(keys)])
  }

  /// Tells runs to end. Of those that have ended meanwhile the jobs keep that, unless they are final: the lead hears of
  /// their ends, but may die before it has done what was ordered.
  static func stop(_ stops: [RunStop]) -> [Request] {
    var reasons = ArrayParameter(.text)
    for stop in stops { reasons.append(stop.reason?.storable) }
    var parameters = Parameters([
      .keys(stops.map(\.run.job.key)), .integers(stops.map(\.run.host)), .integers(stops.map(\.run.attempt)),
      .texts(stops.map(\.event.rawValue)),
    ])
    parameters.add(reasons)
    let told = "unnest($1, $2, $3, $4, $5) AS s (job, host, attempt, stop, reason)"
    let isRun = "r.job = s.job AND r.host = s.host AND r.attempt = s.attempt"
    return [
      Request("UPDATE _run AS r SET stop = s.stop, reason = s.reason FROM \(told) WHERE \(isRun)", parameters),
      Request(
        """
        UPDATE "Job" AS j SET \(JobRows.told(event: "s.stop", reason: "s.reason")), _version = j._version + 1 \
        FROM \(told) WHERE j._key = s.job AND j."state" NOT IN (\(JobRows.finalStates)) AND s.stop <> 'interrupted' \
        AND NOT EXISTS (SELECT 1 FROM _run AS r WHERE \(isRun))
        """, parameters),
    ]
  }

  /// Inserts assignments, of jobs that nobody runs.
  static func assign(_ runs: [Run]) -> Request {
    Request(
      """
      WITH made AS (INSERT INTO _run (job, host, attempt) SELECT * FROM unnest($1, $2, $3) \
      ON CONFLICT (job) DO NOTHING RETURNING 1) \
      SELECT \(demand("count(*) = $4", .contradiction)) FROM made
      """,
      [
        .keys(runs.map(\.job.key)), .integers(runs.map(\.host)), .integers(runs.map(\.attempt)), .integer(runs.count),
      ])
  }

  static let forgetStarts = Request("DELETE FROM _start WHERE until <= now()")

  /// Records starts that count for rates.
  ///
  /// The time is the server's, and none before the lead's decision: a later lead counts them for no shorter than they do.
  static func noteStarts(_ starts: [Resource.Name: (count: Int, period: Int64)]) -> Request {
    let names = starts.keys.map(\.record)
    return Request(
      """
      INSERT INTO _start (kind, name, count, until) SELECT kind, name, count, \
      now() + period * interval '1 ms' FROM unnest($1, $2, $3, $4) AS s (kind, name, count, period)
      """,
      [
        .texts(names.map(\.kind)), .texts(names.map(\.name)), .integers(starts.values.map(\.count)),
        .integers(starts.values.map { Int($0.period) }),
      ])
  }

  /// The starts that still count for rates, and the milliseconds since then.
  static let starts = Request(
    """
    SELECT kind, name, count, greatest(0, floor(extract(epoch FROM now() - started) * 1000))::bigint FROM _start \
    WHERE until > now() ORDER BY started
    """)

  /// Deletes the runs of attempts that have ended, all of them.
  ///
  /// Found by their jobs alone, and compared when they are gone: the server thinks that the table is empty, since it mostly is,
  /// and would join by going through all that was ever in it.
  static func endRuns(_ ended: [EndedRun]) -> Request {
    let runs = ended.map(\.run).sorted { $0.job.key < $1.job.key }
    let found = ["host", "attempt"].map { "coalesce(array_agg(\($0) ORDER BY job), '{}')" }
    return Request(
      """
      WITH gone AS (DELETE FROM _run WHERE job = ANY($1) RETURNING job, host, attempt) \
      SELECT \(demand("\(found[0]) = $2 AND \(found[1]) = $3", .contradiction)) FROM gone
      """,
      [.keys(runs.map(\.job.key)), .integers(runs.map(\.host)), .integers(runs.map(\.attempt))])
  }

  // MARK: Orders and news

  static func pause(_ name: (kind: String, name: String), _ isPaused: Bool) -> Request {
    let values: [SQLBinding] = [.text(name.kind), .text(name.name)]
    return isPaused
      ? Request("INSERT INTO _pause (kind, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", values)
      : Request("DELETE FROM _pause WHERE kind = $1 AND name = $2", values)
  }

  /// Records an order, and tells of it.
  static func place(_ order: Order, ticket: Int64, by host: Int) -> Request {
    Request(
      """
      WITH new AS (INSERT INTO _order (host, ticket, body, keys) VALUES ($1, $2, $3, $4)) \
      INSERT INTO _inbox (kind, host, ticket) VALUES ('ordered', $1, $2)
      """, [.integer(host), .integer(ticket), .text(OrderText.text(of: order)), .keys(order.jobs.map(\.key))])
  }

  static func answer(_ answers: [OrderAnswer]) -> Request {
    Request(
      """
      UPDATE _order AS o SET answer = a.answer FROM unnest($1, $2, $3) AS a (host, ticket, answer) \
      WHERE o.host = a.host AND o.ticket = a.ticket
      """,
      [
        .integers(answers.map(\.host)), .keys(answers.map(\.ticket)),
        .texts(answers.map { OrderText.text(of: $0.content) }),
      ])
  }

  static func answers(to host: Int, from first: Int64) -> Request {
    Request(
      "SELECT ticket, answer FROM _order WHERE host = $1 AND ticket >= $2 AND answer IS NOT NULL",
      [.integer(host), .integer(first)])
  }

  static func forgetAnswers(to host: Int, _ tickets: [Int64]) -> Request {
    Request("DELETE FROM _order WHERE host = $1 AND ticket = ANY($2)", [.integer(host), .keys(tickets)])
  }

  static func tell(_ kind: NewsText.Kind, _ body: String) -> Request {
    Request("INSERT INTO _inbox (kind, body) VALUES ($1, $2)", [.text(kind.rawValue), .text(body)])
  }
}
