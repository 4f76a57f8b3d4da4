public import Foundation

/// Reads or purges the history of a store that keeps one, see `SQLiteStoreOptions.tracksHistory`.
///
///     var request = PersistentHistoryRequest.fetchHistory(after: lastToken)
///     request.condition = try Condition(format: "author != %@", "importer")
///     for transaction in try context.execute(request).transactions { context.mergeChanges(from: transaction) }
public struct PersistentHistoryRequest: PersistentStoreRequest {
  enum Action: Sendable { case fetch, delete }

  let action: Action
  let point: HistoryPoint
  /// The condition on transactions to fetch, by `author`, `contextName`, `process`, `timestamp` and `number`.
  ///
  /// Of others no changes are read. A delete does not look at it.
  public var condition: Condition?
  /// The most transactions to fetch; nil for no limit.
  public var fetchLimit: Int?
  /// True if transactions come with their changes.
  public var includesChanges = true

  /// The transactions after that of a token; all that there are if it is nil.
  public static func fetchHistory(after token: PersistentHistoryToken?) -> Self {
    Self(action: .fetch, point: token.map(HistoryPoint.token) ?? .beginning)
  }

  /// The transactions after another.
  public static func fetchHistory(after transaction: PersistentHistoryTransaction) -> Self {
    fetchHistory(after: transaction.token)
  }

  /// The transactions that were made later than a date.
  public static func fetchHistory(after date: Date) -> Self { Self(action: .fetch, point: .date(date)) }

  /// Deletes the transactions before that of a token, which stays.
  public static func deleteHistory(before token: PersistentHistoryToken) -> Self {
    Self(action: .delete, point: .token(token))
  }

  /// Deletes the transactions before another.
  public static func deleteHistory(before transaction: PersistentHistoryTransaction) -> Self {
    deleteHistory(before: transaction.token)
  }

  /// Deletes the transactions that were made before a date.
  public static func deleteHistory(before date: Date) -> Self { Self(action: .delete, point: .date(date)) }
}

/// The result of a request for history.
public struct PersistentHistoryResult: Sendable {
  /// The transactions that were fetched, oldest first.
  public let transactions: [PersistentHistoryTransaction]
  /// The number of transactions fetched or deleted.
  public let count: Int
}
