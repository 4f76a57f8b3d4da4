/// The options with which a store in a PostgreSQL database is opened.
public struct PostgresStoreOptions: Sendable {
  /// The schema of the database that holds the tables; it is made if it is missing.
  public var schemaName = "bobbin"
  /// The name of the connections in `pg_stat_activity`.
  public var applicationName = "ObjectGraph"
  /// The file with the password, as libpq's documentation describes it (`.pgpass`); nil for libpq's usual one.
  ///
  /// Nobody but its owner may have rights to it, or libpq ignores it.
  public var passwordFile: String?
  /// The time in seconds that connecting to one host may take.
  public var connectTimeout = 2
  /// The time in seconds that the server may take for a statement; then it ends it.
  public var statementTimeout = 60
  /// The time in seconds that a statement waits for a row or table that another transaction holds.
  public var lockTimeout = 10
  /// Binary values of more bytes are kept in parts, out of their row, if their attribute allows external storage.
  public var externalDataThreshold = 64 * 1024
  /// True if a store of another model is migrated when it is opened, if the mapping can be inferred.
  public var migratesAutomatically = true
  /// True if each save and batch request is written to the store's history, in the same transaction.
  ///
  /// It stays on in a store once it was, whoever opens it.
  public var tracksHistory = false
  /// Called with what the server remarks, on the thread of the statement; it must be quick and not use the store.
  public var noticeLog: (@Sendable (String) -> Void)?
  /// Called with each statement's SQL after it ran, on its thread; it must be quick and not use the store.
  public var statementLog: (@Sendable (String) -> Void)?

  /// The options of a store that is opened in the usual way.
  public init() {}
}
