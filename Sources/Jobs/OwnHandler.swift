package import JSONText
package import ObjectGraph
package import SystemSupport

/// A handler of the daemon's own, with all else that the daemon asks of it.
///
/// It computes and blocks on its context's executor only, so that what else it awaits may share ``WorkQueues``.
package protocol OwnHandler: JobHandler {
  /// Returns the number of records that a job has rejected so far; nil for a type without records.
  func rejectCount(of job: Job, in context: isolated ManagedObjectContext) throws -> Int64?

  /// Removes files that an attempt at a job with these arguments may have left half written; none is running.
  func removeLeftovers(of arguments: JSONValue, submitter: UInt32, payloadDirectory: String) throws

  /// Adopts a new configuration, which is in force already.
  func configurationDidChange()

  /// Ends the processes that the handler shares among its jobs, at the daemon's end; no attempt is running.
  func shutDown(by deadline: Deadline) async
}

extension OwnHandler {
  /// Nil: its jobs have no records.
  package func rejectCount(of job: Job, in context: isolated ManagedObjectContext) throws -> Int64? { nil }
  /// Nothing is left.
  package func removeLeftovers(of arguments: JSONValue, submitter: UInt32, payloadDirectory: String) throws {}
  /// Reads the configuration whenever it needs it.
  package func configurationDidChange() {}
  /// There are none.
  package func shutDown(by deadline: Deadline) async {}
}
