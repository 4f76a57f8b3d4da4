package import Foundation
package import ObjectModel

/// A place where a coordinator keeps rows: the store in memory of `ObjectGraph`, a file of SQLite, or a schema of
/// PostgreSQL.
///
/// All calls may come from any thread and several at once; a store sees to its own exclusion. A read never waits for
/// a save.
package protocol PersistentStore: AnyObject, Sendable {
  /// The identifier of this store, which is kept in it.
  var identifier: UUID { get }

  /// The path of the store, for messages; nil if it is in memory.
  var path: String? { get }

  /// Reserves primary keys of a table, for good: no other process will draw them.
  ///
  /// Cost: one small durable transaction, so coordinators reserve in blocks.
  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64>

  /// Makes changes durable in one transaction: when it returns they survive a power cut, when it throws they are
  /// undone, with the exception that ``StoreError/Code/inputOutput`` leaves the outcome open.
  ///
  /// Rows of updates and deletes whose stored version is not their base's are conflicts, and so are references to objects
  /// that are not there and rows that would be left with a reference to a deleted object: if there are any, nothing is
  /// written and they are returned. Those rows are looked for where there are no other conflicts.
  func save(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult

  /// Calls the body with what reads and writes in one transaction, which is durable when this returns, and undone if
  /// the body or the commit throws.
  ///
  /// Other writers wait meanwhile, so the body must not call other methods of the store.
  func transaction<Result: Sendable>(
    from origin: TransactionOrigin, _ body: (any StoreTransaction) throws -> Result
  ) throws -> Result

  /// Notes that contexts and what they share show what one saver has written: whoever waits for that reads nothing older.
  func noteSaved()

  /// Calls the body with a reader that sees one state of the store.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result

  /// The state that the store has now, readable as long as it is held; nil if the store can't keep one.
  func snapshot() throws -> (any StoreSnapshot)?

  /// The history of the store's transactions; nil if it keeps none.
  var history: (any StoreHistory)? { get }

  /// Calls the handler each time it is noticed that others have committed, if the store is opened to notice.
  func observeForeignCommits(_ handler: @escaping @Sendable (ForeignCommit) -> Void) throws(StoreError)

  /// True if no text that is saved may have the character U+0000.
  var refusesNul: Bool { get }

  /// The folder for files that a save is to take over (on the same file system); nil if the store has none.
  var stagingDirectory: String? { get }

  /// Gives space that deleted rows have left back to the file system, in one transaction; returns how many bytes.
  func reclaimSpace(atMost byteCount: Int) throws(StoreError) -> Int

  /// Returns the bytes of the store's file that are in use.
  func bytesInUse() throws(StoreError) -> Int

  /// Checks the store in itself, while nobody saves; each contradiction in a sentence, without values.
  func findings() throws(StoreError) -> [String]

  /// Writes what is left to write and lets go of the files. Later calls of other methods throw.
  ///
  /// - Parameter unused: ends of reserved blocks that were not drawn; they can be handed out again, if nobody has
  ///   reserved behind them.
  func close(returning unused: [KeyBlock]) throws(StoreError)
}

/// A request to reserve keys of a table.
package struct KeyReservation: Sendable {
  package let root: Entity
  package let count: Int
  package init(root: Entity, count: Int) {
    self.root = root
    self.count = count
  }
}

/// Reserved keys of a table.
package struct KeyBlock: Sendable {
  package let root: Entity
  package let keys: Range<Int64>
  package init(root: Entity, keys: Range<Int64>) {
    self.root = root
    self.keys = keys
  }
}

/// The changes that a save writes, and what it checks and reserves.
package struct StoreSaveRequest: Sendable {
  /// Sets of changes in order; an object has one change at most in all of them together.
  package let changes: [ChangeSet]
  /// Keys to reserve in the same transaction, because their blocks run low.
  package let reservations: [KeyReservation]
  /// Rows that are not written, but are conflicts if their stored version is not their base's.
  package let checks: [RowChange]
  /// The origin of the save, for the history.
  package let origin: TransactionOrigin

  package init(
    _ changes: [ChangeSet], reservations: [KeyReservation] = [], checks: [RowChange] = [],
    origin: TransactionOrigin = TransactionOrigin()
  ) {
    self.changes = changes
    self.reservations = reservations
    self.checks = checks
    self.origin = origin
  }
}

/// The result of a save.
package struct StoreSaveResult: Sendable {
  /// The rows that were written.
  package let committed: CommittedRows
  /// The blocks of keys, one per reservation.
  package let reserved: [Range<Int64>]
  /// Objects whose stored version was not the expected one; not empty means that nothing was written.
  package let conflicts: [StoreConflict]
  /// Derived attributes that have new values, in rows that were written and in others; no version is raised for them.
  package let derived: [DerivedValue]

  package init(_ committed: CommittedRows, reserved: [Range<Int64>] = [], derived: [DerivedValue] = []) {
    self.committed = committed
    self.reserved = reserved
    self.derived = derived
    conflicts = []
  }

  package init(conflicts: [StoreConflict]) {
    self.conflicts = conflicts
    committed = CommittedRows([])
    reserved = []
    derived = []
  }
}

/// A conflict because of which a store does not save a change.
package struct StoreConflict: Sendable {
  package enum Reason: Sendable, Equatable {
    /// The row has another version than the change was made against, or is gone.
    case version
    /// Changes lead to the object, and it is not there.
    case missingDestination
    /// The object leads to one that is deleted, and that has to do with it by its delete rules.
    case leadsToDeleted
  }

  package let reason: Reason
  package let change: RowChange
  /// The row as it is in the store now; nil if it was deleted.
  package let stored: StoredRow?

  package init(_ change: RowChange, stored: StoredRow?, _ reason: Reason = .version) {
    self.reason = reason
    self.change = change
    self.stored = stored
  }
}

extension StoreConflict {
  /// A conflict about an object that the changes lead to, and that is not stored any more.
  package init(missingDestination id: ManagedObjectID) {
    self.init(RowChange(.update, id, row: nil, base: nil), stored: nil, .missingDestination)
  }

  /// A conflict about an object that would be left with a reference to a deleted one.
  ///
  /// - Parameter stored: its row, if the save changes nothing else of it.
  package init(leadingToDeleted id: ManagedObjectID, stored: StoredRow?) {
    self.init(RowChange(.update, id, row: nil, base: nil), stored: stored, .leadsToDeleted)
  }

  package var isMissingDestination: Bool { reason == .missingDestination }
}

/// Reads one state of a store; valid during the call that lent it, on its thread.
package protocol StoreReader {
  /// The row of an object under its stored version, or nil if there is none.
  func row(for id: ManagedObjectID) throws(StoreError) -> StoredRow?

  /// The rows of several objects of one family, each nil where there is none; as few statements as the store can do.
  func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [StoredRow?]

  /// The stored objects that have the values of a batch's rows in some of its columns, each nil where there is none or
  /// a value is null.
  ///
  /// Cost: one statement for all rows, and a look-up in an index for each.
  func find(_ batch: RowBatch, key: [Property]) throws(StoreError) -> [ManagedObjectID?]

  /// The links of an object in one direction of a join table, to objects that exist.
  ///
  /// - Parameter limit: the most of them, which are then the first in the relationship's order, otherwise by key; nil for
  ///   all, in no particular order.
  func links(of id: ManagedObjectID, _ property: Property, limit: Int?) throws(StoreError) -> [Link]

  /// The objects that a query matches, in its order, each with its row if the query asks for rows.
  ///
  /// - Parameter body: returns false to stop.
  func fetch(
    _ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool
  ) throws

  /// The number of objects that a query matches, its limit and offset included.
  func count(_ query: StoreQuery) throws -> Int
}

extension StoreReader {
  /// All links of an object in one direction of a join table, in no particular order.
  package func links(of id: ManagedObjectID, _ property: Property) throws(StoreError) -> [Link] {
    try links(of: id, property, limit: nil)
  }
}

/// One state of a store, kept as long as somebody holds this. It may be used from any thread, by one after another.
package protocol StoreSnapshot: AnyObject, Sendable {
  /// Calls the body with a reader of the state; the body may read again.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result
}

/// Reads and writes in one transaction of a store, and sees what it wrote; valid during the call that lent it.
package protocol StoreTransaction: StoreReader {
  /// Reserves primary keys of a table; if the transaction is undone they are free again, or never used, as the store has it.
  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64>

  /// Writes changes, deletes first and inserts last.
  ///
  /// If it throws ``StoreError/Code/constraint``, or returns conflicts, none of them is written, and the transaction
  /// continues as it was before.
  func write(_ set: ChangeSet) throws(StoreError) -> [StoreConflict]

  /// Writes packed rows one after another, so that each finds what those before it have written.
  ///
  /// A row that violates a uniqueness constraint is left out alone. If it throws, the transaction must not go on.
  /// - Parameter key: the properties by which a stored object is looked for that has the row's values already; none for
  ///   rows that are new at any rate.
  func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult

  /// Derived attributes that have new values because of what was written.
  var derived: [DerivedValue] { get }
}

extension PersistentStore {
  package func noteSaved() {}

  package func snapshot() throws -> (any StoreSnapshot)? { nil }

  package var history: (any StoreHistory)? { nil }

  package var refusesNul: Bool { false }

  package func observeForeignCommits(_ handler: @escaping @Sendable (ForeignCommit) -> Void) throws(StoreError) {}
  package func findings() throws(StoreError) -> [String] { [] }

  package func reclaimSpace(atMost byteCount: Int) throws(StoreError) -> Int { 0 }

  package func bytesInUse() throws(StoreError) -> Int { 0 }

  /// Closes without returning keys.
  package func close() throws(StoreError) { try close(returning: []) }
}

/// A store's report of commits that others made to it.
package struct ForeignCommit: Sendable {
  /// The highest key in each table: programs unaware of reserved keys use the next one.
  package let highestKeys: [(root: Entity, key: Int64)]

  package init(highestKeys: [(root: Entity, key: Int64)]) { self.highestKeys = highestKeys }
}
