import Foundation
import Glibc
import ObjectModel
import SQLGeneration
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
  private var entries: [HistoryEntry] = []

  init(_ connection: Connection, from origin: TransactionOrigin, writer: String) {
    self.connection = connection
    self.origin = origin
    self.writer = writer
  }

  var knowsIfKept: Bool { isKept != nil }

  /// Takes the answer to the question whether the store keeps a history.
  mutating func learn(_ isKept: Bool) { self.isKept = isKept }

  /// True if there is anything to be noted; asks the store once in a transaction.
  mutating func isActive() throws(StoreError) -> Bool {
    if let isKept { return isKept }
    let isKept = try HistorySchema(connection: connection).isPresent
    self.isKept = isKept
    return isKept
  }

  mutating func note(_ entry: HistoryEntry) {
    if !entries.isEmpty, entries[entries.count - 1].extend(by: entry) { return }
    entries.append(entry)
  }

  /// Writes what was noted; to be called before the commit.
  mutating func flush() throws(StoreError) {
    if entries.isEmpty { return }
    var transaction = Parameters()
    transaction.add(Date().timeIntervalSinceReferenceDate)
    transaction.add(origin.author)
    transaction.add(origin.contextName)
    transaction.add("\(ProcessInfo.processInfo.processName)[\(getpid())]")
    transaction.add(writer)
    let made = try connection.query(
      "INSERT INTO _transaction (time, author, context, process, writer) VALUES ($1, $2, $3, $4, $5) RETURNING id",
      transaction)
    var changes = ColumnArrays([.integer, .integer, .text, .text, .integer, .integer, .text, .text])
    for (place, entry) in entries.enumerated() {
      changes.integer(made.integer(0, 0))
      changes.integer(Int64(place + 1))
      changes.text(entry.entity)
      changes.text(entry.kind.rawValue)
      changes.integer(entry.keys.lowerBound)
      changes.integer(entry.keys.upperBound)
      for text in [entry.properties, entry.tombstone] { if let text { changes.text(text) } else { changes.null() } }
    }
    entries = []
    _ = try connection.query(
      "INSERT INTO _change (id, place, entity, kind, first, last, properties, tombstone) "
        + "SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)", changes.parameters)
  }
}

/// The tables of a store's history. Once a store has them, everybody who writes with this library writes there too.
///
/// Identifiers are drawn before the commit, so that a lower one may appear later than a higher one. Who reads gives those
/// that are there their numbers, under a lock: a number that is behind another one was never to be seen before it.
struct HistorySchema {
  /// The key under which `_metadata` tells the version of these tables, if they are there.
  static let versionKey = "history"
  /// The key of the number of the newest transaction that was deleted.
  static let purgedKey = "historyPurged"
  /// The key of the number of the newest transaction that has one.
  static let numberedKey = "historyNumbered"

  let connection: Connection

  /// Selects a row if the store keeps a history.
  static let presenceSQL = "SELECT 1 FROM _metadata WHERE key = '\(versionKey)'"

  /// True if the store keeps a history.
  var isPresent: Bool {
    get throws(StoreError) {
      try connection.query(Self.presenceSQL).rowCount > 0
    }
  }

  /// Makes the tables unless they are there.
  func create() throws(StoreError) {
    if try isPresent { return }
    try connection.transaction { () throws(StoreError) in
      _ = try connection.query("SELECT value FROM _metadata WHERE key = 'format' FOR UPDATE")
      if try isPresent { return }
      try connection.control(
        """
        CREATE TABLE _transaction (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint UNIQUE, \
        time double precision NOT NULL, author text, context text, process text NOT NULL, writer text NOT NULL)
        """)
      try connection.control("CREATE INDEX ON _transaction (id) WHERE number IS NULL")
      try connection.control(
        """
        CREATE TABLE _change (id bigint, place bigint, entity text NOT NULL, kind text NOT NULL, \
        first bigint NOT NULL, last bigint NOT NULL, properties text, tombstone text, PRIMARY KEY (id, place))
        """)
      try connection.control(
        "INSERT INTO _metadata VALUES ('\(Self.versionKey)', '1'), ('\(Self.numberedKey)', '0')")
    }
  }

  /// Gives the transactions that are there their numbers, and returns the highest.
  func number() throws(StoreError) -> Int64 {
    try connection.transaction { () throws(StoreError) in
      let known = try connection.query(
        "SELECT value::bigint FROM _metadata WHERE key = '\(Self.numberedKey)' FOR UPDATE")
      let last = known.rowCount == 0 ? 0 : known.integer(0, 0)
      let numbered = try connection.query(
        """
        UPDATE _transaction AS t SET number = $1 + o.place \
        FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM _transaction WHERE number IS NULL) AS o \
        WHERE t.id = o.id
        """, [.integer(last)])
      let count = Int64(numbered.changedRowCount)
      if count > 0 {
        _ = try connection.query(
          "UPDATE _metadata SET value = $1 WHERE key = '\(Self.numberedKey)'", [.text("\(last + count)")])
      }
      return last + count
    }
  }
}

extension SaveTransaction {
  /// Notes what sets of changes do, for the history.
  mutating func noteHistory(_ sets: [ChangeSet]) throws(StoreError) {
    if sets.allSatisfy(\.isEmpty) { return }
    guard try history.isActive() else { return }
    try HistoryEntry.forEach(of: sets, in: plan.model) { history.note($0) }
  }

  /// Notes what packed rows did, for the history.
  mutating func noteHistory(_ result: PackedResult, _ batch: RowBatch) throws(StoreError) {
    guard try history.isActive() else { return }
    try HistoryEntry.forEach(of: result, batch, in: plan.model) { history.note($0) }
  }
}
