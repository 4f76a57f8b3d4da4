public import StoreInterface

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
  /// The time after which a connection is given up whose server does not answer; nil for a little more than a statement's.
  package var answerLimit: Duration?
  /// Binary values of more bytes are kept in parts, out of their row, if their attribute allows external storage.
  public var externalDataThreshold = 64 * 1024
  /// True if the schema has a view of each entity, `_view_ENTITY`, for programs that read it with SQL: dates are
  /// `timestamptz` there, decimals `numeric`, UUIDs `uuid` and Booleans `boolean`.
  ///
  /// A store that has them keeps them up, whoever opens it.
  public var makesViews = false
  /// True if a store of another model is migrated when it is opened, if the mapping can be inferred.
  public var migratesAutomatically = true
  /// The others that may have the store open with an earlier or later version of the model; nil if there are none.
  package var sharing: SchemaSharing?
  /// Versions with code of their own between them, for what can't be inferred.
  public var stagedMigration: StagedMigrationManager?
  /// True if each save and batch request is written to the store's history, in the same transaction.
  ///
  /// It stays on in a store once it was, whoever opens it.
  public var tracksHistory = false
  /// True if other hosts are told of this store's commits, and theirs are noticed: contexts that merge automatically show
  /// them, and the coordinator's `remoteChanges()` tells of them.
  ///
  /// It takes a connection and a thread, and has no effect behind a pooler. With history, what others have changed is read
  /// from there; without, what is in memory is read again. Programs that use other libraries tell nobody.
  public var noticesOtherWriters = true
  /// True if statements search as ``IndexSearch/settings`` say.
  package var searchesByIndex = false
  /// Called with what the server remarks, on the thread of the statement; it must be quick and not use the store.
  public var noticeLog: (@Sendable (String) -> Void)?
  /// Called after each statement on the thread that ran it, with locks held: it must be quick and not use the store.
  public var statementLog: (@Sendable (StatementEvent) -> Void)?

  /// The options of a store that is opened in the usual way.
  public init() {}
}

/// The use of one store by hosts that have different versions of its model, as while a fleet is upgraded host by host.
///
/// Then what a host's model lacks stays in the store for the others, what it has beyond theirs is added, and what they would
/// not understand is refused while one of them is alive.
package struct SchemaSharing: Sendable {
  /// The names of the other hosts that are alive.
  let hosts: @Sendable () throws(StoreError) -> [String]

  package init(hosts: @escaping @Sendable () throws(StoreError) -> [String]) { self.hosts = hosts }
}
