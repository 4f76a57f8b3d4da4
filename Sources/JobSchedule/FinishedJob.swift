package import Jobs
package import ObjectGraph
import Synchronization
package import SystemSupport

/// A final job on its way to the disk.
package struct FinishedJob: Sendable {
  package let objectID: ManagedObjectID
  package let id: String
  package let state: JobState
  package let failure: String?
  /// The file that it came in, if that still awaits its end.
  package let file: LiveFile?

  package init(objectID: ManagedObjectID, id: String, state: JobState, failure: String?, file: LiveFile?) {
    self.objectID = objectID
    self.id = id
    self.state = state
    self.failure = failure
    self.file = file
  }

  /// The reason for the cancellation of jobs that depend on it.
  package var reasonForOthers: String { Self.reasonForOthers(of: id, state) }

  /// The reason for the cancellation of jobs that depend on one that has ended.
  package static func reasonForOthers(of id: String, _ state: JobState) -> String {
    "the job \"\(id)\", which must be completed before it, is \(state)"
  }

  /// Its line in the reason of a refused file; cancelled jobs need none.
  package var failureText: String? {
    state == .discarded || state == .quarantined ? "\(id): \(failure ?? "failed")" : nil
  }
}

/// A job file with unfinished jobs; it is released when all of them are durable.
package final class LiveFile: Sendable {
  package let name: FileName
  /// True if it was claimed by an earlier run, so that some of its jobs may have been final before this one.
  package let isOfEarlierRun: Bool
  private let unfinished: Mutex<(count: Int, failures: [(order: Int64, text: String)])>

  /// - Parameter jobCount: the number of its unfinished jobs.
  package init(name: FileName, jobCount: Int, isOfEarlierRun: Bool = false) {
    self.name = name
    self.isOfEarlierRun = isOfEarlierRun
    unfinished = Mutex((jobCount, []))
  }

  /// Counts another unfinished job.
  package func expectJob() { unfinished.withLock { $0.count += 1 } }

  /// Records that one of its jobs is durable; returns the failures of all of them, in the jobs' order, if it was the
  /// last.
  package func finish(_ job: FinishedJob) -> [String]? {
    unfinished.withLock { state in
      state.count -= 1
      if let text = job.failureText { state.failures.append((job.objectID.key, text)) }
      return state.count == 0 ? state.failures.sorted { $0.order < $1.order }.map(\.text) : nil
    }
  }
}
