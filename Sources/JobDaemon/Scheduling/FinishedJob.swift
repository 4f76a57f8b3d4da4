import Jobs
import ObjectGraph

/// A final job on its way to the disk.
struct FinishedJob: Sendable {
  let objectID: ManagedObjectID
  let id: String
  let state: JobState
  let failure: String?
  /// The file that it came in, if that still awaits its end.
  let file: LiveFile?

  /// The reason for the cancellation of jobs that depend on it.
  var reasonForOthers: String { "the job \"\(id)\", which must be completed before it, is \(state)" }

  /// Its line in the reason of a refused file; cancelled jobs need none.
  var failureText: String? {
    state == .discarded || state == .quarantined ? "\(id): \(failure ?? "failed")" : nil
  }
}
