package import ObjectModel
public import StoreInterface

/// The options with which an SQLite store is opened.
public struct SQLiteStoreOptions: Sendable {
  /// Binary values of more bytes are kept in files, if their attribute allows external storage.
  public var externalDataThreshold = 64 * 1024
  /// The time that a save waits for another process that writes, in milliseconds.
  public var busyTimeout: Int32 = 10_000
  /// True if a store of another model is migrated when it is opened, if the mapping can be inferred.
  public var migratesAutomatically = true
  /// True if families of entities that the model has no more keep their tables, so that a model that has them again
  /// finds their objects.
  public var keepsRemovedEntities = false
  /// Versions with code of their own between them, for what can't be inferred.
  public var stagedMigration: StagedMigrationManager?
  /// The operator's decisions about migrations that can't be inferred; messages name their file.
  package var migrationInstructions: MigrationInstructions?
  /// True if a store that can't be brought to the model is deleted, with everything that belongs to it, and made anew.
  ///
  /// For data that can be had again. The database, `-wal`, `-shm` and the folder of large values go; stores of newer
  /// releases and files of other programs stay.
  public var deletesIncompatibleStore = false
  /// True if each save and batch request is written to the store's history, in the same transaction.
  ///
  /// It stays on in a store once it was, whoever opens it. Delete what nobody needs any more by
  /// `PersistentHistoryRequest.deleteHistory(before:)`, or the store grows.
  public var tracksHistory = false
  /// True if a store that is made anew can give space that deleted objects leave back to the file system, in small
  /// steps: see `PersistentStoreCoordinator.reclaimSpace(atMost:)`.
  ///
  /// It costs a page of the file for about a thousand others. A store keeps what it was made with.
  public var reclaimsSpace = false
  /// True if only the user who makes the store may open its files, and the folder of its large values.
  ///
  /// Who may read the shared index of SQLite's log can lock it, and keep everybody from writing. Wider rights are taken
  /// away when the store is opened; the folder around it is its owner's business.
  public var isPrivate = false
  /// True if commits of other processes, and of other coordinators, are noticed: contexts that merge automatically show
  /// them, and the coordinator's `remoteChanges()` tells of them.
  ///
  /// Nothing is polled: the kernel tells when the journal is written to. With history, what others have changed is read
  /// from there; without, what is in memory is read again.
  public var noticesOtherWriters = true
  /// True if the store has a view of each entity, `_view_ENTITY`, for programs that read it with SQL: dates are text of
  /// ISO 8601 there, decimals are numbers and UUIDs text.
  ///
  /// A store that has them keeps them up, whoever opens it.
  public var makesViews = false
  /// Called after each statement on the thread that ran it, with locks held: it must be quick and not use the store.
  public var statementLog: (@Sendable (StatementEvent) -> Void)?
  /// Asked at each ``FaultPoint``, on the thread that comes there, with locks held; the store fails with what it
  /// returns. For tests; a body that waits holds the store up.
  public var failure: (@Sendable (FaultPoint) -> StoreFault?)?

  /// The options of a store that is opened in the usual way.
  public init() {}

  var connection: Connection.Settings { Connection.Settings(busyTimeout: busyTimeout, statementLog: statementLog) }
}
