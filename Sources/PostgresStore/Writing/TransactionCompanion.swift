package import StoreInterface

/// Somebody who keeps tables beside the store's own, and has a part in its transactions.
///
/// A statement that does not let the transaction pass raises an exception of the SQLSTATE `BF000`, and nothing is written;
/// the exception's message is the code of the error that is thrown. The store has one transaction at a time.
package protocol TransactionCompanion: Sendable {
  /// The name by which other sessions know the one of the transaction.
  var sessionName: String { get }

  /// The statements directly after the begin.
  func opening() throws(StoreError) -> [Request]

  /// The statements directly before the commit.
  ///
  /// - Parameter changes: all that the transaction has written.
  func closing(_ changes: [ChangeSet]) throws(StoreError) -> [Request]

  /// Finds out about a commit whose answer is lost.
  ///
  /// - Throws: ``StoreError`` if that can't be found out.
  func isWritten(_ lost: StoreError) throws(StoreError) -> Bool

  /// Notes that the transaction is on disk; contexts may show what was there before for a moment yet.
  func noteWritten()

  /// Notes that contexts show what was written.
  func noteSaved()
}
