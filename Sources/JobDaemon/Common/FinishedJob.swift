import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

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

/// A job file with unfinished jobs; it is released when all of them are durable.
final class LiveFile: Sendable {
  let name: FileName
  /// True if it was claimed by an earlier run, so that some of its jobs may have been final before this one.
  let isOfEarlierRun: Bool
  private let unfinished: Mutex<(count: Int, failures: [(order: Int64, text: String)])>

  /// - Parameter jobCount: the number of its unfinished jobs.
  init(name: FileName, jobCount: Int, isOfEarlierRun: Bool = false) {
    self.name = name
    self.isOfEarlierRun = isOfEarlierRun
    unfinished = Mutex((jobCount, []))
  }

  /// Counts another unfinished job.
  func expectJob() { unfinished.withLock { $0.count += 1 } }

  /// Records that one of its jobs is durable; returns the failures of all of them, in the jobs' order, if it was the
  /// last.
  func finish(_ job: FinishedJob) -> [String]? {
    unfinished.withLock { state in
      state.count -= 1
      if let text = job.failureText { state.failures.append((job.objectID.key, text)) }
      return state.count == 0 ? state.failures.sorted { $0.order < $1.order }.map(\.text) : nil
    }
  }
}
