import PostgresStore
import StoreInterface

/// The tables of the ledger. They lie beside the store's own and in the same schema, so that one transaction writes both.
struct LedgerTables {
  /// The format that these statements make; ``LedgerRelease`` has those that bring it to newer ones.
  ///
  /// Until the first release, raise it with every change of a statement below, and of what rows mean to other hosts. From then
  /// on such a change is a migration.
  static let format = 9

  private static let statements = [
    """
    CREATE TABLE _host (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, root text NOT NULL, \
    slots bigint NOT NULL, types text[] NOT NULL, places text[] NOT NULL, withheld text[] NOT NULL DEFAULT '{}', \
    state text NOT NULL DEFAULT 'alive', started timestamptz NOT NULL DEFAULT now(), ended timestamptz, \
    release text NOT NULL, oldest bigint NOT NULL, newest bigint NOT NULL)
    """,
    // Rows that are written again and again: the room lets new versions stay on their page.
    "CREATE TABLE _beat (host bigint PRIMARY KEY, seen timestamptz NOT NULL) WITH (fillfactor = 50)",
    """
    CREATE TABLE _session (host bigint, slot bigint, number bigint NOT NULL, PRIMARY KEY (host, slot)) \
    WITH (fillfactor = 50)
    """,
    "CREATE TABLE _lead (one boolean PRIMARY KEY DEFAULT true CHECK (one), term bigint NOT NULL, host bigint)",
    "INSERT INTO _lead (term) VALUES (0)",
    """
    CREATE TABLE _run (job bigint PRIMARY KEY, host bigint NOT NULL, attempt bigint NOT NULL, \
    started timestamptz NOT NULL DEFAULT now(), stop text, reason text, number bigint GENERATED ALWAYS AS IDENTITY)
    """,
    // Only leads assign, one after the other, so that numbers grow with time: who has read up to one reads on from there.
    "CREATE INDEX _run_host ON _run (host, number)",
    "CREATE INDEX _run_stop ON _run (host) WHERE stop IS NOT NULL",
    """
    CREATE TABLE _inbox (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, host bigint, \
    keys bigint[], body text, ticket bigint)
    """,
    """
    CREATE TABLE _order (host bigint, ticket bigint, body text NOT NULL, keys bigint[] NOT NULL, answer text, \
    PRIMARY KEY (host, ticket))
    """,
    """
    CREATE TABLE _outcome (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, spool text NOT NULL, \
    jobs bigint[] NOT NULL)
    """,
    "CREATE INDEX _outcome_spool ON _outcome (spool, number)",
    """
    CREATE TABLE _input (job bigint, path text COLLATE "C", modified bigint NOT NULL, content bytea NOT NULL, \
    PRIMARY KEY (job, path))
    """,
    // How often jobs were lost with their hosts; a row goes with its job.
    "CREATE TABLE _loss (job bigint PRIMARY KEY, count bigint NOT NULL)",
    "CREATE TABLE _pause (kind text, name text, PRIMARY KEY (kind, name))",
    // Starts of jobs that count for a rate, until they do not any more.
    """
    CREATE TABLE _start (kind text NOT NULL, name text NOT NULL, count bigint NOT NULL, \
    started timestamptz NOT NULL DEFAULT now(), until timestamptz NOT NULL)
    """,
    "CREATE INDEX _start_until ON _start (until)",
    // What does not hold ends the transaction where it is found, so that its statements need one wait only.
    """
    CREATE OR REPLACE FUNCTION _demand(holds boolean, code text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN \
    IF holds IS NOT TRUE THEN RAISE EXCEPTION USING ERRCODE = 'BF000', MESSAGE = code; END IF; END $$
    """,
    "INSERT INTO _metadata (key, value) VALUES ('fleet', '\(format)')",
  ]

  let connection: Connection
  let release: LedgerRelease
  /// The host that makes them.
  let founder: FleetFounder?

  private var format: LedgerFormat { LedgerFormat(connection: connection, release: release) }

  /// Makes the tables, in the newest format of the release, unless they are there.
  ///
  /// - Throws: ``StoreError/Code/notAStore`` if there is no store in the schema, ``StoreError/Code/incompatibleModel`` if
  ///   the tables are of a format in which the release does not work.
  func make() throws(StoreError) {
    if try format.isPresent() { return }
    try connection.transaction { () throws(StoreError) in
      // Whoever comes second waits here, and finds them made.
      try connection.pipeline([Request("SELECT value FROM _metadata WHERE key = 'format' FOR UPDATE")])
      if try format.isPresent() { return }
      for statement in Self.statements { try connection.control(statement) }
      try format.raise(from: Self.format, to: release.formats.upperBound)
      if let founder { try adoptJobs(by: founder) }
    }
  }

  /// The key in `_metadata` of the spool to which the jobs of a store that was copied are bound, until it has placed them.
  private static let boundKey = "bound"

  static let forgetBoundJobs = Request("DELETE FROM _metadata WHERE key = '\(boundKey)'")

  /// True if jobs that were adopted are still bound to the founder's spool.
  func hasBoundJobs() throws(StoreError) -> Bool {
    guard let founder else { return false }
    let bound = Request(
      "SELECT 1 FROM _metadata WHERE key = '\(Self.boundKey)' AND value = $1", [.text(founder.spool)])
    return try connection.pipeline([bound])[0].rowCount == 1
  }

  /// Takes over what a host left that had the store for itself, before it was copied here.
  ///
  /// Its unfinished jobs belong to the founder's spool and run there, until it says which of them name none of its files;
  /// what it had paused is paused for the fleet.
  /// - Throws: ``StoreError/Code/unsupported`` unless the founder has claimed all files of these jobs: it may be another
  ///   host's turn, or else files would be missing that nobody releases.
  private func adoptJobs(by founder: FleetFounder) throws(StoreError) {
    let claimed: [String]
    do { claimed = try founder.claimedFiles() } catch {
      throw StoreError(.cannotOpen, "the claimed files of this host can't be listed: \(error)", path: connection.place)
    }
    let found = try connection.pipeline([JobRows.filesOfOwnerless(besides: claimed)])[0]
    let (all, missing) = (found.integer(0, 0), found.integer(0, 1))
    let named = (0..<found.rowCount).compactMap { found.textIfPresent($0, 2) }
    if missing > 0, missing == all {
      throw StoreError(
        .unsupported,
        "the store was copied here with unfinished jobs, such as that of the file \(named[0]), which this host's folder cur/ "
          + "does not have; start the daemon of the host that the store comes from first", path: connection.place)
    }
    if missing > 0 {
      let names = named.joined(separator: ", ") + (named.count < missing ? " and others" : "")
      throw StoreError(
        .unsupported,
        "the store was copied here with unfinished jobs of \(all) files, of which this host's folder cur/ does not have "
          + "\(missing): \(names); put them back, or cancel their jobs by the daemon on its old store, and copy that anew",
        path: connection.place)
    }
    let note = Request("INSERT INTO _metadata (key, value) VALUES ('\(Self.boundKey)', $1)", [.text(founder.spool)])
    try connection.pipeline([JobRows.adopt(founder.spool), note] + JobRows.adoptRecords)
  }
}

/// The first host of a fleet, which makes the ledger.
package struct FleetFounder: Sendable {
  let spool: String
  let claimedFiles: @Sendable () throws -> [String]

  /// - Parameters:
  ///   - spool: the name of its spool.
  ///   - claimedFiles: reads the names of the job files that it has claimed.
  package init(spool: String, claimedFiles: @escaping @Sendable () throws -> [String]) {
    self.spool = spool
    self.claimedFiles = claimedFiles
  }
}
