import Foundation
import Glibc
import ObjectModel
import StoreInterface

/// Writes what a transaction does to objects into the store's history, if the store keeps one.
///
/// Objects whose keys follow each other and to which the same was done share a row, so a batch of any size takes few.
struct HistoryWriter {
  private let connection: Connection
  private let origin: TransactionOrigin
  /// The identifier of this open store.
  private let writer: String
  /// True if the store keeps a history; nil until that was asked.
  private var isKept: Bool?
  private var number: Int64?
  private var place: Int64 = 0
  /// The entry that was noted last, which the next one may extend.
  private var last: HistoryEntry?

  init(_ connection: Connection, from origin: TransactionOrigin, writer: String) {
    self.connection = connection
    self.origin = origin
    self.writer = writer
  }

  /// True if there is anything to be noted; asks the store once in a transaction.
  mutating func isActive() throws(StoreError) -> Bool {
    if let isKept { return isKept }
    let isKept = try HistorySchema(connection: connection).isPresent
    self.isKept = isKept
    return isKept
  }

  mutating func note(_ entry: HistoryEntry) throws(StoreError) {
    if last?.extend(by: entry) == true { return }
    try flush()
    last = entry
  }

  /// Writes what was noted last; to be called before the commit.
  mutating func flush() throws(StoreError) {
    guard let entry = last else { return }
    last = nil
    let number = try transactionNumber()
    place += 1
    let place = place
    try connection.control("INSERT INTO _change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)") { statement in
      statement.bind(number, 1)
      statement.bind(place, 2)
      statement.bindCopy(entry.entity, 3)
      statement.bindCopy(entry.kind.rawValue, 4)
      statement.bind(entry.keys.lowerBound, 5)
      statement.bind(entry.keys.upperBound, 6)
      statement.bindCopy(entry.properties, 7)
      statement.bindCopy(entry.tombstone, 8)
    }
  }

  private mutating func transactionNumber() throws(StoreError) -> Int64 {
    if let number { return number }
    try connection.control(
      "INSERT INTO _transaction (time, author, context, process, writer) VALUES (?1, ?2, ?3, ?4, ?5)"
    ) { statement in
      statement.bind(Date().timeIntervalSinceReferenceDate, 1)
      statement.bindCopy(origin.author, 2)
      statement.bindCopy(origin.contextName, 3)
      statement.bindCopy("\(ProcessInfo.processInfo.processName)[\(getpid())]", 4)
      statement.bindCopy(writer, 5)
    }
    let made = connection.lastInsertedKey
    number = made
    return made
  }
}

/// The tables of a store's history. Once a store has them, everybody who writes with this library writes there too.
struct HistorySchema {
  /// The key under which `_metadata` tells the version of these tables, if they are there.
  static let versionKey = "history"
  /// The key of the number of the newest transaction that was deleted.
  static let purgedKey = "historyPurged"

  let connection: Connection

  /// True if the store keeps a history.
  var isPresent: Bool {
    get throws(StoreError) {
      try connection.controlResult("SELECT 1 FROM _metadata WHERE key = '\(Self.versionKey)'") { _ in true } == true
    }
  }

  /// Makes the tables unless they are there.
  func create() throws(StoreError) {
    if try isPresent { return }
    try connection.transaction { () throws(StoreError) in
      try connection.control(
        "CREATE TABLE IF NOT EXISTS _transaction (number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, "
          + "author TEXT, context TEXT, process TEXT NOT NULL, writer TEXT NOT NULL)")
      try connection.control(
        "CREATE TABLE IF NOT EXISTS _change (number INTEGER NOT NULL, place INTEGER NOT NULL, entity TEXT NOT NULL, "
          + "kind TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, properties TEXT, tombstone TEXT, "
          + "PRIMARY KEY (number, place)) WITHOUT ROWID")
      try connection.control("INSERT OR REPLACE INTO _metadata VALUES ('\(Self.versionKey)', '1')")
    }
  }
}

extension SaveTransaction {
  /// Notes what sets of changes do, for the history.
  mutating func noteHistory(_ sets: [ChangeSet]) throws(StoreError) {
    if sets.allSatisfy(\.isEmpty) { return }
    guard try history.isActive() else { return }
    try HistoryEntry.forEach(of: sets, in: model) { entry throws(StoreError) in try history.note(entry) }
  }

  /// Notes what packed rows did, for the history.
  mutating func noteHistory(_ result: PackedResult, _ batch: RowBatch) throws(StoreError) {
    guard try history.isActive() else { return }
    try HistoryEntry.forEach(of: result, batch, in: model) { entry throws(StoreError) in try history.note(entry) }
  }
}
