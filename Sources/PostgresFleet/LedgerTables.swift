import PostgresStore
import StoreInterface

/// The tables of the ledger. They lie beside the store's own and in the same schema, so that one transaction writes both.
struct LedgerTables {
  /// The version of these tables and of what is in them, which `_metadata` tells under ``formatKey``.
  ///
  /// Raise it with every change of a statement below, and of what rows mean to other hosts: hosts of two versions never work
  /// on the same ledger. From the first release on, an older one is migrated by the first host that finds it.
  static let format = 3
  static let formatKey = "fleet"

  private static let statements = [
    """
    CREATE TABLE _host (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, root text NOT NULL, \
    slots bigint NOT NULL, types text[] NOT NULL, places text[] NOT NULL, state text NOT NULL DEFAULT 'alive', \
    started timestamptz NOT NULL DEFAULT now(), ended timestamptz)
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
    "CREATE TABLE _pause (kind text, name text, PRIMARY KEY (kind, name))",
    #"ALTER TABLE "Job" ADD COLUMN IF NOT EXISTS _place text COLLATE "C""#,
    // What does not hold ends the transaction where it is found, so that its statements need one wait only.
    """
    CREATE OR REPLACE FUNCTION _demand(holds boolean, code text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN \
    IF holds IS NOT TRUE THEN RAISE EXCEPTION USING ERRCODE = 'BF000', MESSAGE = code; END IF; END $$
    """,
    "INSERT INTO _metadata (key, value) VALUES ('\(formatKey)', '\(format)')",
  ]

  let connection: Connection
  /// The host that makes them.
  var founder: FleetFounder?
  /// The servers and the database, for messages.
  let place: String

  /// Makes the tables, unless they are there.
  ///
  /// - Returns: true if it has made them.
  /// - Throws: ``StoreError/Code/notAStore`` if there is no store in the schema, ``StoreError/Code/incompatibleModel`` if
  ///   the tables are of another format.
  func make() throws(StoreError) -> Bool {
    if try arePresent() { return false }
    return try connection.transaction { () throws(StoreError) in
      // Whoever comes second waits here, and finds them made.
      try connection.pipeline([Request("SELECT value FROM _metadata WHERE key = 'format' FOR UPDATE")])
      if try arePresent() { return false }
      for statement in Self.statements { try connection.control(statement) }
      if let founder { try adoptJobs(by: founder) }
      return true
    }
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
      throw StoreError(.cannotOpen, "the claimed files of this host can't be listed: \(error)", path: place)
    }
    let found = try connection.pipeline([JobRows.filesOfOwnerless(besides: claimed)])[0]
    let (all, missing) = (found.integer(0, 0), found.integer(0, 1))
    let named = (0..<found.rowCount).compactMap { found.textIfPresent($0, 2) }
    if missing > 0, missing == all {
      throw StoreError(
        .unsupported,
        "the store was copied here with unfinished jobs, such as that of the file \(named[0]), which this host's folder cur/ "
          + "does not have; start the daemon of the host that the store comes from first", path: place)
    }
    if missing > 0 {
      let names = named.joined(separator: ", ") + (named.count < missing ? " and others" : "")
      throw StoreError(
        .unsupported,
        "the store was copied here with unfinished jobs of \(all) files, of which this host's folder cur/ does not have "
          + "\(missing): \(names); put them back, or cancel their jobs by the daemon on its old store, and copy that anew",
        path: place)
    }
    try connection.pipeline([JobRows.adopt(founder.spool)] + JobRows.adoptPauses)
  }

  /// True if the tables are there.
  ///
  /// - Throws: ``StoreError/Code/notAStore`` if there is no store in the schema, ``StoreError/Code/incompatibleModel`` if the
  ///   tables are of another format.
  func arePresent() throws(StoreError) -> Bool {
    guard let found = try version() else { return false }
    try check(found)
    return true
  }

  private func version() throws(StoreError) -> Int? {
    let store = try connection.pipeline([Request("SELECT to_regclass('_metadata') IS NOT NULL")])[0]
    guard store.integer(0, 0) == 1 else {
      throw StoreError(.notAStore, "there is no store yet in which a fleet could keep its ledger", path: place)
    }
    let version = try connection.pipeline([
      Request("SELECT value::bigint FROM _metadata WHERE key = '\(Self.formatKey)'")
    ])
    return version[0].rowCount == 0 ? nil : Int(version[0].integer(0, 0))
  }

  private func check(_ version: Int) throws(StoreError) {
    if version == Self.format { return }
    let advice =
      version > Self.format
      ? "it is of a newer release" : "no release has made it; stop all hosts and drop it, as Fleet.md tells"
    throw StoreError(
      .incompatibleModel,
      "the ledger of the fleet has format \(version), and this release reads format \(Self.format): \(advice)",
      path: place)
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
