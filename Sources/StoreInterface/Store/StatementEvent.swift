import Foundation

/// A statement that a store ran.
public struct StatementEvent: Sendable {
  /// The purpose of a connection.
  public enum Role: String, Sendable {
    /// A connection that writes; SQLite has one.
    case writer
    /// One of several that read a snapshot each.
    case reader
  }

  /// The SQL, without the values.
  public let sql: String
  /// The purpose of the connection that ran it.
  public let role: Role
  /// The label of the dispatch queue it ran on, else the name of the thread.
  public let executor: String
  /// The time that it ran, in nanoseconds, the body of a fetch included; of statements that are sent together, that of
  /// all.
  public let duration: UInt64
  /// Rows that it returned, or wrote.
  public let rowCount: Int

  /// An event of the current thread.
  package init(sql: String, role: Role, duration: UInt64, rowCount: Int) {
    self.sql = sql
    self.role = role
    executor = Self.currentExecutor()
    self.duration = duration
    self.rowCount = rowCount
  }

  /// The label of the current queue, else the name of the current thread.
  private static func currentExecutor() -> String {
    let label = String(cString: currentQueueLabel(nil))
    return label.isEmpty ? Thread.current.name ?? "" : label
  }
}

// Dispatch does not show Swift on Linux this function for the current queue, which null stands for.
@_silgen_name("dispatch_queue_get_label")
private func currentQueueLabel(_ queue: OpaquePointer?) -> UnsafePointer<CChar>
