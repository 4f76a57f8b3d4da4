public import Foundation

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

  /// Whether a token of the same store is the earlier one.
  public static func < (left: Self, right: Self) -> Bool {
    left.storeIdentifier == right.storeIdentifier
      ? left.number < right.number : left.storeIdentifier.uuidString < right.storeIdentifier.uuidString
  }
}
