import Jobs
import ObjectGraph

/// A job that is over, on its way to the disk.
struct FinishedJob: Sendable {
  let objectID: ManagedObjectID
  let id: String
  let state: JobState
  let failure: String?
  /// The file that it came in, if that still waits for it.
  let file: LiveFile?

  /// Why jobs that need it come to nothing.
  var reasonForOthers: String { "the job \"\(id)\", which must be completed before it, is \(state)" }

  /// What the file's reason tells of it; jobs that somebody called off need none.
  var failureText: String? {
    state == .discarded || state == .quarantined ? "\(id): \(failure ?? "failed")" : nil
  }
}
