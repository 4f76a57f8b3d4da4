package import Foundation

/// A place in the history of a store.
package enum HistoryPoint: Sendable {
  case beginning
  case token(PersistentHistoryToken)
  case date(Date)
}

/// The history that a store keeps.
package protocol StoreHistory {
  /// What own transactions have as their ``PersistentHistoryTransaction/writer``.
  var writer: String { get }

  /// The place behind the newest transaction.
  func currentToken() throws -> PersistentHistoryToken

  /// Calls the body with the transactions after a point, oldest first and without changes, and with what reads the
  /// changes of that one.
  ///
  /// - Parameter body: returns false to stop.
  /// - Throws: ``StoreError/Code/expiredHistoryToken`` if transactions after the point were deleted.
  func transactions(
    after point: HistoryPoint,
    _ body: (PersistentHistoryTransaction, () throws -> [PersistentHistoryChange]) throws -> Bool
  ) throws

  /// Deletes the transactions before a point, and returns how many there were.
  func deleteTransactions(before point: HistoryPoint) throws -> Int
}
