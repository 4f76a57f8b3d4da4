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
    started timestamptz NOT NULL DEFAULT now())
    """,
    "CREATE INDEX _run_host ON _run (host)",
    """
    CREATE TABLE _inbox (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, host bigint, \
    keys bigint[], body text)
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
    }
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
