import Foundation
import ObjectModel
package import StoreInterface

extension SQLiteStore {
  /// The history, if the store keeps one.
  package var history: (any StoreHistory)? {
    let isPresent = try? withReader { connection in try HistorySchema(connection: connection).isPresent }
    // A store that can't be read says so when its history is.
    return isPresent == false ? nil : SQLiteHistory(store: self)
  }
}

/// Reads and purges the history of a store.
struct SQLiteHistory: StoreHistory {
  let store: SQLiteStore
  var writer: String { store.instance }

  func currentToken() throws -> PersistentHistoryToken {
    try store.withReader { connection in
      let newest = try connection.first("SELECT seq FROM sqlite_sequence WHERE name = '_transaction'") { $0.integer(0) }
      return token(newest ?? 0)
    }
  }

  func transactions(
    after point: HistoryPoint,
    _ body: (PersistentHistoryTransaction, () throws -> [PersistentHistoryChange]) throws -> Bool
  ) throws {
    try store.withReader { connection in
      let start = try start(point, connection)
      var failure: (any Error)?
      try connection.run(
        "SELECT number, time, author, context, process, writer FROM _transaction WHERE number > ?1 AND time > ?2 "
          + "ORDER BY number",
        { statement in
          statement.bind(start.number, 1)
          statement.bind(start.time, 2)
        },
        read: { statement in
          let transaction = transaction(statement)
          do {
            return try body(transaction) { try changes(transaction.token.number, connection) }
          } catch {
            failure = error
            return false
          }
        })
      if let failure { throw failure }
    }
  }

  func deleteTransactions(before point: HistoryPoint) throws -> Int {
    let condition: (sql: String, bind: (Statement) -> Void)
    switch point {
    case .beginning: return 0
    case .token(let token):
      try check(token)
      condition = ("number < ?1", { $0.bind(token.number, 1) })
    case .date(let date): condition = ("time < ?1", { $0.bind(date.timeIntervalSinceReferenceDate, 1) })
    }
    return try store.withWriter { connection throws(StoreError) in
      var count = 0
      try connection.transaction { () throws(StoreError) in
        let newest =
          try connection.first(
            "SELECT max(number) FROM _transaction WHERE \(condition.sql)", condition.bind
          ) { $0.isNull(0) ? nil : $0.integer(0) } ?? nil
        guard let newest else { return }
        // A clock that was set back leaves no holes.
        try connection.execute("DELETE FROM _change WHERE number <= ?1") { $0.bind(newest, 1) }
        try connection.execute("DELETE FROM _transaction WHERE number <= ?1") { $0.bind(newest, 1) }
        count = connection.changedRowCount
        try connection.execute("INSERT OR REPLACE INTO _metadata VALUES ('\(HistorySchema.purgedKey)', ?1)") {
          $0.bind(newest, 1)
        }
      }
      return count
    }
  }

  // MARK: Points

  private func token(_ number: Int64) -> PersistentHistoryToken {
    PersistentHistoryToken(storeIdentifier: store.identifier, number: number)
  }

  private func check(_ token: PersistentHistoryToken) throws(StoreError) {
    guard token.storeIdentifier == store.identifier else {
      throw StoreError(.unsupported, "the history token is of another store", path: store.path)
    }
  }

  /// Returns the number that all transactions after a point exceed.
  private func start(_ point: HistoryPoint, _ connection: Connection) throws(StoreError) -> (
    number: Int64, time: Double
  ) {
    switch point {
    case .beginning: return (0, -.infinity)
    case .date(let date): return (0, date.timeIntervalSinceReferenceDate)
    case .token(let token):
      try check(token)
      let purged = try connection.first("SELECT value FROM _metadata WHERE key = '\(HistorySchema.purgedKey)'") {
        $0.integer(0)
      }
      guard token.number >= purged ?? 0 else {
        throw StoreError.expiredHistoryToken(path: store.path)
      }
      return (token.number, -.infinity)
    }
  }

  // MARK: Reading

  private func transaction(_ statement: Statement) -> PersistentHistoryTransaction {
    PersistentHistoryTransaction(
      token: token(statement.integer(0)), timestamp: Date(timeIntervalSinceReferenceDate: statement.real(1)),
      author: statement.textIfPresent(2), contextName: statement.textIfPresent(3), process: statement.text(4),
      changes: [], writer: statement.text(5))
  }

  /// The changes of a transaction; those of entities that the model does not have are left out.
  private func changes(_ number: Int64, _ connection: Connection) throws(StoreError) -> [PersistentHistoryChange] {
    var changes: [PersistentHistoryChange] = []
    try connection.run(
      "SELECT entity, kind, first, last, properties, tombstone FROM _change WHERE number = ?1 ORDER BY place",
      { $0.bind(number, 1) },
      read: { statement in
        let entry = HistoryEntry(
          entity: statement.text(0), kind: statement.text(1), first: statement.integer(2), last: statement.integer(3),
          properties: statement.textIfPresent(4), tombstone: statement.textIfPresent(5))
        let (model, ordinal) = (store.schema.model, store.rows.coordinatorOrdinal)
        changes += entry?.changes(in: model, coordinatorOrdinal: ordinal) ?? []
        return true
      })
    return changes
  }
}
