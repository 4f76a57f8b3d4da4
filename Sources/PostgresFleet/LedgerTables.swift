import PostgresStore
import StoreInterface

/// The tables of the ledger. They lie beside the store's own and in the same schema, so that one transaction writes both.
struct LedgerTables {
  /// The version of these tables, which `_metadata` tells under ``formatKey``.
  static let format = 1
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
  /// - Throws: ``StoreError/Code/notAStore`` if there is no store in the schema, ``StoreError/Code/incompatibleModel`` if
  ///   the tables are of a newer release.
  func make() throws(StoreError) {
    if let found = try version() { return try check(found) }
    try connection.transaction { () throws(StoreError) in
      // Whoever comes second waits here, and finds them made.
      try connection.pipeline([Request("SELECT value FROM _metadata WHERE key = 'format' FOR UPDATE")])
      if let found = try version() { return try check(found) }
      for statement in Self.statements { try connection.control(statement) }
      if let founder { try adoptJobs(by: founder) }
    }
  }

  /// Takes over what a host left that had the store for itself, before it was copied here.
  ///
  /// Its unfinished jobs belong to the founder's spool and run there, since they may name its files, and what it had
  /// paused is paused for the fleet.
  /// - Throws: ``StoreError/Code/unsupported`` if the files of these jobs lie elsewhere, so that it is another host's turn.
  private func adoptJobs(by founder: FleetFounder) throws(StoreError) {
    let files = try connection.pipeline([JobRows.filesOfOwnerless])[0]
    if files.rowCount > 0, !(0..<files.rowCount).contains(where: { founder.hasFile(files.text($0, 0)) }) {
      throw StoreError(
        .unsupported,
        "the store was copied here with unfinished jobs, such as that of the file \(files.text(0, 0)), which this host's "
          + "spool does not have; start the daemon of the host that the store comes from first", path: place)
    }
    try connection.pipeline([JobRows.adopt(founder.spool)] + JobRows.adoptPauses)
  }

  private func version() throws(StoreError) -> Int? {
    let found = try connection.pipeline([
      Request("SELECT to_regclass('_metadata') IS NOT NULL")
    ])
    guard found[0].integer(0, 0) == 1 else {
      throw StoreError(.notAStore, "there is no store yet in which a fleet could keep its ledger", path: place)
    }
    let version = try connection.pipeline([
      Request("SELECT value::bigint FROM _metadata WHERE key = '\(Self.formatKey)'")
    ])
    return version[0].rowCount == 0 ? nil : Int(version[0].integer(0, 0))
  }

  private func check(_ version: Int) throws(StoreError) {
    if version <= Self.format { return }
    throw StoreError(
      .incompatibleModel,
      "the ledger of the fleet has format \(version), of a newer release than this one, which reads up to \(Self.format)",
      path: place)
  }
}

/// The first host of a fleet, which makes the ledger.
package struct FleetFounder: Sendable {
  let spool: String
  let hasFile: @Sendable (String) -> Bool

  /// - Parameters:
  ///   - spool: the name of its spool.
  ///   - hasFile: whether a job file of a name lies in that, claimed or not.
  package init(spool: String, hasFile: @escaping @Sendable (_ name: String) -> Bool) {
    self.spool = spool
    self.hasFile = hasFile
  }
}
