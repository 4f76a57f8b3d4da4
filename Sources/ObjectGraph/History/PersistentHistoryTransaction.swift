public import Foundation

/// What one save, or one batch request, has done to a store, by whomever.
public struct PersistentHistoryTransaction: Sendable {
  /// The place behind this transaction.
  public let token: PersistentHistoryToken
  /// When it was made, by the clock of who made it.
  public let timestamp: Date
  /// What the saving context had as its ``ManagedObjectContext/transactionAuthor``.
  public let author: String?
  /// The name of the context that made the changes; of the one that saved them, if there were several.
  public let contextName: String?
  /// The name and the number of the process, such as `bobbind[4711]`.
  public let process: String
  /// What was done to each object, in the order in which it was written; empty if changes were not asked for.
  public let changes: [PersistentHistoryChange]
  /// Which open store wrote it, to tell own transactions from those of others.
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
