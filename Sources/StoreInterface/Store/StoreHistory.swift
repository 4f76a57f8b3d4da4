public import Foundation
public import ObjectModel

/// A place in the history of a store.
package enum HistoryPoint: Sendable {
  case beginning
  case token(PersistentHistoryToken)
  case date(Date)
}

/// The history that a store keeps.
package protocol StoreHistory {
  /// The ``PersistentHistoryTransaction/writer`` of this store's own transactions.
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

extension StoreError {
  /// The error of a token that is too old.
  ///
  /// - Parameter path: the store, for people.
  package static func expiredHistoryToken(path: String?) -> StoreError {
    StoreError(
      .expiredHistoryToken,
      "the history after the token was deleted: fetch all objects anew, and then history after currentHistoryToken()",
      path: path)
  }
}

/// The changes that one save or one batch request, by whomever, has made to a store.
public struct PersistentHistoryTransaction: Sendable {
  /// The place behind this transaction.
  public let token: PersistentHistoryToken
  /// When it was made, by the clock of who made it.
  public let timestamp: Date
  /// The ``ManagedObjectContext/transactionAuthor`` of the saving context.
  public let author: String?
  /// The name of the context that made the changes; of the one that saved them, if there were several.
  public let contextName: String?
  /// The name and the number of the process, such as `bobbind[4711]`.
  public let process: String
  /// The changes of objects, in the order in which they were written; empty if changes were not asked for.
  public let changes: [PersistentHistoryChange]
  /// The open store that wrote it, to tell own transactions from those of others.
  package let writer: String

  package init(
    token: PersistentHistoryToken, timestamp: Date, author: String?, contextName: String?, process: String,
    changes: [PersistentHistoryChange], writer: String
  ) {
    self.token = token
    self.timestamp = timestamp
    self.author = author
    self.contextName = contextName
    self.process = process
    self.changes = changes
    self.writer = writer
  }
}

/// The change that a transaction has made to one object.
public struct PersistentHistoryChange: Sendable {
  /// The kind of a change.
  public enum Kind: String, Sendable {
    /// It is new.
    case insert
    /// It has other values.
    case update
    /// It is gone.
    case delete
  }

  /// The kind of the change.
  public let kind: Kind
  /// The object, under the entity that it had then.
  public let objectID: ManagedObjectID
  /// The names of the properties that an update has changed, many-to-many relationships included.
  ///
  /// They are those of the model of that time. A to-many relationship whose inverse is to-one does not show here: the
  /// objects at the other end are updated.
  public let updatedProperties: Set<String>
  /// The values of a deleted object in the attributes that are marked to be preserved.
  public let tombstone: [String: Value]

  package init(
    _ kind: Kind, _ objectID: ManagedObjectID, updatedProperties: Set<String> = [], tombstone: [String: Value] = [:]
  ) {
    self.kind = kind
    self.objectID = objectID
    self.updatedProperties = updatedProperties
    self.tombstone = tombstone
  }
}

/// A place in the history of one store: behind one transaction, and before the next.
///
/// Keep it, as JSON for example, to ask later for what has come since. Tokens of one store are ordered as its
/// transactions are; those of different stores in no meaningful way.
public struct PersistentHistoryToken: Sendable, Hashable, Codable, Comparable {
  /// The store whose history is meant.
  public let storeIdentifier: UUID
  /// Counts the transactions of the store from 1; a number is never used twice.
  public let number: Int64

  package init(storeIdentifier: UUID, number: Int64) {
    self.storeIdentifier = storeIdentifier
    self.number = number
  }

  /// True if a token of the same store is the earlier one.
  public static func < (left: Self, right: Self) -> Bool {
    left.storeIdentifier == right.storeIdentifier
      ? left.number < right.number : left.storeIdentifier.uuidString < right.storeIdentifier.uuidString
  }
}

/// The origin of a transaction, as the history keeps it.
package struct TransactionOrigin: Sendable, Hashable {
  /// The name of the context that made the changes.
  package var contextName: String?
  /// The `transactionAuthor` of that context.
  package var author: String?

  package init(contextName: String? = nil, author: String? = nil) {
    self.contextName = contextName
    self.author = author
  }
}
