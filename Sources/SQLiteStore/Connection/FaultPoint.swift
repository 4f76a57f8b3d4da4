/// A place where a test can make an SQLite store fail, hold it up, or end the process.
public struct FaultPoint: Sendable {
  /// The step that the store is about to make.
  public enum Step: String, Sendable, CaseIterable {
    /// Takes a snapshot to read from.
    case read
    /// Begins a save's transaction.
    case begin
    /// Deletes a row or a link.
    case delete
    /// Updates a row.
    case update
    /// Inserts a row or a link.
    case insert
    /// Writes a value that may lie in a file of its own.
    case file
    /// Reserves keys.
    case reserve
    /// Commits a save's transaction.
    case commit
    /// Removes what the commit has made superfluous: the save can't fail any more.
    case committed
  }

  /// The step that the store is about to make.
  public let step: Step
  /// The number of steps of the same save that came before.
  public let index: Int
}

/// A fault that a store can be made to fail with, as a result code of SQLite.
public struct StoreFault: Sendable, Hashable, ExpressibleByIntegerLiteral {
  /// The result code of SQLite.
  public let code: Int32

  /// A failure by SQLite's result code.
  public init(code: Int32) { self.code = code }
  /// A failure by SQLite's result code.
  public init(integerLiteral code: Int32) { self.code = code }

  /// Another process holds the store: `StoreError.Code.busy`.
  public static let busy: StoreFault = 5
  /// The file can't be written: `StoreError.Code.readOnly`.
  public static let readOnly: StoreFault = 8
  /// The disk fails: `StoreError.Code.inputOutput`.
  public static let inputOutput: StoreFault = 10
  /// The file is damaged: `StoreError.Code.corrupt`.
  public static let corrupt: StoreFault = 11
  /// The disk is full: `StoreError.Code.full`.
  public static let full: StoreFault = 13
}
