package import JSONText
package import ObjectGraph
package import SystemSupport

/// A handler of the daemon's own, with all else that the daemon asks of it.
///
/// It computes and blocks on its context's executor only, so that what else it awaits may share ``WorkQueues``.
package protocol OwnHandler: JobHandler {
  /// Returns the number of records that a job has rejected so far; nil for a type without records.
  func rejectCount(of job: Job, in context: isolated ManagedObjectContext) throws -> Int64?

  /// Returns true if an attempt at a job with these arguments goes on where an earlier one was ended: when the daemon stops,
  /// it has such an attempt end at once instead of waiting for it.
  func goesOn(_ arguments: JSONValue) -> Bool

  /// Removes files that an attempt at a job with these arguments may have left half written; none is running.
  func removeLeftovers(of arguments: JSONValue, submitter: UInt32, payloadDirectory: String) throws

  /// Adopts a new configuration, which is in force already.
  func configurationDidChange()

  /// The processes that the handler shares among its jobs, as numbers; nil if it has none.
  var helperCounts: HelperCounts? { get }

  /// Ends the processes that the handler shares among its jobs, at the daemon's end; no attempt is running.
  func shutDown(by deadline: Deadline) async
}

extension OwnHandler {
  /// Nil: its jobs have no records.
  package func rejectCount(of job: Job, in context: isolated ManagedObjectContext) throws -> Int64? { nil }
  /// It begins anew.
  package func goesOn(_ arguments: JSONValue) -> Bool { false }
  /// Nothing is left.
  package func removeLeftovers(of arguments: JSONValue, submitter: UInt32, payloadDirectory: String) throws {}
  /// Reads the configuration whenever it needs it.
  package func configurationDidChange() {}
  /// There are none.
  package var helperCounts: HelperCounts? { nil }
  /// There are none.
  package func shutDown(by deadline: Deadline) async {}
}

/// The helper processes of a handler since the daemon's start.
package struct HelperCounts: Sendable, Equatable {
  package var started = 0
  /// Those that died or hung with a job.
  package var failed = 0

  package init() {}
}
