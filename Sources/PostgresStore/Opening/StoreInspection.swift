import SQLGeneration
import StoreInterface

/// Looks at a server, and at what is in the schema of a store, before anything is done there.
struct StoreInspection {
  /// The key in `_metadata` of what is being copied, while the store is not complete.
  static let copyKey = "copy"

  let connection: Connection
  let schemaName: String

  func checkServer() throws(StoreError) {
    let values = try connection.query(
      "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'), "
        + "current_setting('synchronous_commit'), current_setting('bobbin.library', true)")
    guard values.integer(0, 0) >= 15_00_00 else {
      throw StoreError(
        .cannotOpen, "the server is older than PostgreSQL 15; upgrade it", path: connection.place)
    }
    guard values.text(0, 1) == "UTF8" else {
      throw StoreError(
        .cannotOpen, "the database has the encoding \(values.text(0, 1)); make one with the encoding UTF8",
        path: connection.place)
    }
    guard !values.isNull(0, 3), values.text(0, 3) == "yes" else {
      throw StoreError(
        .cannotOpen, "the settings of a connection do not reach the server: " + ServerFailure.poolerAdvice,
        path: connection.place)
    }
    guard values.text(0, 2) != "off" else {
      throw StoreError(
        .cannotOpen, "synchronous_commit is off for this database or role, so that commits could be lost; set it to on",
        path: connection.place)
    }
  }

  /// True if the store is there; throws if the schema is something other than a store of ours.
  func isPresent() throws(StoreError) -> Bool {
    let tables = try connection.query(
      "SELECT count(*), count(*) FILTER (WHERE tablename = '_metadata'), "
        + "(SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1), current_user "
        + "FROM pg_tables WHERE schemaname = $1", [.text(schemaName)])
    if !tables.isNull(0, 2), tables.integer(0, 2) == 0 {
      throw StoreError(
        .cannotOpen,
        "the role \(tables.text(0, 3)) may not use the schema \(schemaName); its owner can GRANT USAGE ON SCHEMA",
        path: connection.place)
    }
    if tables.integer(0, 1) > 0 {
      let columns = try connection.query(
        "SELECT count(*) FROM information_schema.columns WHERE table_schema = $1 AND table_name = '_metadata' "
          + "AND column_name IN ('key', 'value')", [.text(schemaName)])
      if columns.integer(0, 0) == 2 { return true }
    } else if tables.integer(0, 0) == 0 {
      return false
    }
    throw StoreError(
      .notAStore,
      "the schema \(schemaName) of the database has tables of another program; use a database of its own",
      path: connection.place)
  }

  func checkFormat() throws(StoreError) {
    if try metadata(Self.copyKey) != nil {
      throw StoreError(
        .notAStore,
        "the schema \(schemaName) of the database holds a copy that was not finished; go on with it by bobbinctl store copy",
        path: connection.place)
    }
    guard let version = try metadata("format").flatMap({ Int($0) }) else {
      throw StoreError(
        .notAStore, "the schema \(schemaName) of the database is of another program; use a database of its own",
        path: connection.place)
    }
    guard version <= StoreOpener.formatVersion else {
      throw StoreError(
        .incompatibleModel,
        "the store has format \(version), of a newer release than this one, which reads up to \(StoreOpener.formatVersion)",
        path: connection.place)
    }
  }

  func metadata(_ key: String) throws(StoreError) -> String? {
    let found = try connection.query("SELECT value FROM _metadata WHERE key = $1", [.text(key)])
    return found.rowCount == 0 ? nil : found.text(0, 0)
  }
}
