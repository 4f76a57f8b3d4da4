internal import Foundation

/// A statement that a store ran.
public struct StatementEvent: Sendable {
  /// What a connection is for.
  public enum Role: String, Sendable {
    /// The one connection that writes.
    case writer
    /// One of several that read a snapshot each.
    case reader
  }

  /// The SQL, without the values.
  public let sql: String
  /// What the connection that ran it is for.
  public let role: Role
  /// The label of the dispatch queue it ran on, else the name of the thread.
  public let executor: String
  /// How long it ran, in nanoseconds; the body of a fetch is included.
  public let duration: UInt64
  /// Rows that it returned, or wrote.
  public let rowCount: Int

  /// The label of the current queue, else the name of the current thread.
  static func currentExecutor() -> String {
    let label = String(cString: currentQueueLabel(nil))
    return label.isEmpty ? Thread.current.name ?? "" : label
  }
}

// Dispatch does not show Swift on Linux this function for the current queue, which null stands for.
@_silgen_name("dispatch_queue_get_label")
private func currentQueueLabel(_ queue: OpaquePointer?) -> UnsafePointer<CChar>
