import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Reads and purges the history of a store.
struct PostgresHistory: StoreHistory {
  let connection: SpareConnection
  let model: ManagedObjectModel
  let identifier: UUID
  let writer: String
  let coordinatorOrdinal: UInt32
  let place: String

  /// Transactions per statement: as many as are held in memory at once.
  private static let chunk = 1_000

  func currentToken() throws -> PersistentHistoryToken {
    token(
      try connection.lend { connection throws(StoreError) in try HistorySchema(connection: connection).number() })
  }

  func transactions(
    after point: HistoryPoint,
    _ body: (PersistentHistoryTransaction, () throws -> [PersistentHistoryChange]) throws -> Bool
  ) throws {
    let (start, time) = try connection.lend { connection throws(StoreError) in
      _ = try HistorySchema(connection: connection).number()
      return try self.start(point, connection)
    }
    var number = start
    while true {
      let from = number
      let found = try connection.lend { connection throws(StoreError) in
        try read(after: from, since: time, connection)
      }
      for (id, transaction) in found {
        let goesOn = try body(transaction) {
          try connection.lend { connection throws(StoreError) in try changes(id, connection) }
        }
        if !goesOn { return }
        number = transaction.token.number
      }
      if found.count < Self.chunk { return }
    }
  }

  func deleteTransactions(before point: HistoryPoint) throws -> Int {
    let condition: (sql: String, binding: SQLBinding)
    switch point {
    case .beginning: return 0
    case .token(let token):
      try check(token)
      condition = ("number < $1", .integer(token.number))
    case .date(let date): condition = ("time < $1", .double(date.timeIntervalSinceReferenceDate))
    }
    return try connection.lend { connection throws(StoreError) in
      _ = try HistorySchema(connection: connection).number()
      return try connection.transaction { () throws(StoreError) in
        let newest = try connection.query(
          "SELECT max(number) FROM _transaction WHERE \(condition.sql)", [condition.binding])
        if newest.isNull(0, 0) { return 0 }
        let last = SQLBinding.integer(newest.integer(0, 0))
        // A clock that was set back leaves no holes.
        _ = try connection.query(
          "DELETE FROM _change AS c USING _transaction AS t WHERE c.id = t.id AND t.number <= $1", [last])
        let deleted = try connection.query("DELETE FROM _transaction WHERE number <= $1", [last])
        _ = try connection.query(
          "INSERT INTO _metadata (key, value) VALUES ('\(HistorySchema.purgedKey)', $1) "
            + "ON CONFLICT (key) DO UPDATE SET value = excluded.value", [.text("\(newest.integer(0, 0))")])
        return deleted.changedRowCount
      }
    }
  }

  // MARK: Points

  private func token(_ number: Int64) -> PersistentHistoryToken {
    PersistentHistoryToken(storeIdentifier: identifier, number: number)
  }

  private func check(_ token: PersistentHistoryToken) throws(StoreError) {
    guard token.storeIdentifier == identifier else {
      throw StoreError(.unsupported, "the history token is of another store", path: place)
    }
  }

  /// Returns the number and the time that all transactions after a point exceed.
  private func start(_ point: HistoryPoint, _ connection: Connection) throws(StoreError) -> (Int64, Double) {
    switch point {
    case .beginning: return (0, -.infinity)
    case .date(let date): return (0, date.timeIntervalSinceReferenceDate)
    case .token(let token):
      try check(token)
      let purged = try connection.query(
        "SELECT value::bigint FROM _metadata WHERE key = '\(HistorySchema.purgedKey)'")
      guard purged.rowCount == 0 || token.number >= purged.integer(0, 0) else {
        throw StoreError.expiredHistoryToken(path: place)
      }
      return (token.number, -.infinity)
    }
  }

  // MARK: Reading

  private func read(
    after number: Int64, since time: Double, _ connection: Connection
  ) throws(StoreError) -> [(id: Int64, PersistentHistoryTransaction)] {
    let result = try connection.query(
      "SELECT id, number, time, author, context, process, writer FROM _transaction WHERE number > $1 AND time > $2 "
        + "ORDER BY number LIMIT \(Self.chunk)", [.integer(number), .double(time)])
    return (0..<result.rowCount).map { row in
      let transaction = PersistentHistoryTransaction(
        token: token(result.integer(row, 1)), timestamp: Date(timeIntervalSinceReferenceDate: result.real(row, 2)),
        author: result.textIfPresent(row, 3), contextName: result.textIfPresent(row, 4), process: result.text(row, 5),
        changes: [], writer: result.text(row, 6))
      return (result.integer(row, 0), transaction)
    }
  }

  /// The changes of a transaction; those of entities that the model does not have are left out.
  private func changes(_ id: Int64, _ connection: Connection) throws(StoreError) -> [PersistentHistoryChange] {
    let result = try connection.query(
      "SELECT entity, kind, first, last, properties, tombstone FROM _change WHERE id = $1 ORDER BY place",
      [.integer(id)])
    return (0..<result.rowCount).flatMap { row in
      let entry = HistoryEntry(
        entity: result.text(row, 0), kind: result.text(row, 1), first: result.integer(row, 2),
        last: result.integer(row, 3), properties: result.textIfPresent(row, 4), tombstone: result.textIfPresent(row, 5))
      return entry?.changes(in: model, coordinatorOrdinal: coordinatorOrdinal) ?? []
    }
  }
}
