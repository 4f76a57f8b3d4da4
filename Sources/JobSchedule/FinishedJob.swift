package import Jobs
package import ObjectGraph
import Synchronization
package import SystemSupport

/// A final job on its way to the disk.
package struct FinishedJob: Sendable {
  package let objectID: ManagedObjectID
  package let id: String
  package let type: String
  package let state: JobState
  package let failure: String?
  /// Its batch, if it has one and this host tells of that.
  package let batch: String?
  /// Its last attempt, if that ended here.
  package let attempt: Attempt?
  /// The file that it came in, if that still awaits its end.
  package let file: LiveFile?

  /// An attempt as the log tells of it.
  package struct Attempt: Sendable {
    /// Longer results are not kept until they are logged.
    private static let longestResult = 16 << 10

    package let number: Int
    /// The number of attempts that the job may have.
    package let limit: Int
    /// The time that it took, in seconds.
    package let seconds: Double
    /// The result as the job's record has it; nil if there is none, or a long one.
    package let result: String?
    package let queue: String
    package let batch: String?
    package let trace: TraceContext?

    package init(of job: JobSpecification, number: Int, seconds: Double, result: String? = nil) {
      (queue, batch, trace) = (job.queue, job.batch, job.trace)
      self.number = number
      limit = job.maxAttempts ?? 1
      self.seconds = seconds
      self.result = result.flatMap { $0.utf8.count <= Self.longestResult ? $0 : nil }
    }
  }

  package init(
    objectID: ManagedObjectID, id: String, type: String, state: JobState, failure: String?, batch: String? = nil,
    attempt: Attempt? = nil, file: LiveFile?
  ) {
    self.objectID = objectID
    self.id = id
    self.type = type
    self.state = state
    self.failure = failure
    self.batch = batch
    self.attempt = attempt
    self.file = file
  }

  /// A job whose record is gone: it was over before that was removed.
  package static func removed(_ id: ManagedObjectID) -> FinishedJob {
    FinishedJob(objectID: id, id: "", type: "", state: .completed, failure: nil, file: nil)
  }

  /// The same job with the file that it came in.
  package func with(_ file: LiveFile?) -> FinishedJob {
    FinishedJob(
      objectID: objectID, id: id, type: type, state: state, failure: failure, batch: batch, attempt: attempt, file: file
    )
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

/// The failures of a file's jobs: the first of them, in the jobs' order, and their number.
package struct FailureList: Sendable {
  /// The most that are told.
  private static let limit = 1_000

  private var first: [(order: Int64, text: String)] = []
  private var count = 0

  package init() {}

  /// - Parameter order: a number that is lower for jobs further ahead in the file.
  package mutating func add(_ text: String, order: Int64) {
    count += 1
    first.append((order, text))
    // Seldom, so that each costs little.
    if first.count == 2 * Self.limit { keepFirst() }
  }

  private mutating func keepFirst() {
    first.sort { $0.order < $1.order }
    first = Array(first.prefix(Self.limit - 1))
  }

  /// For people, one for each line.
  package var texts: [String] {
    if count <= Self.limit { return first.sorted { $0.order < $1.order }.map(\.text) }
    var kept = self
    kept.keepFirst()
    return kept.first.map(\.text) + ["and \(count - kept.first.count) more"]
  }
}

/// A job file with unfinished jobs; it is released when all of them are durable.
package final class LiveFile: Sendable {
  package let name: FileName
  /// True if it was claimed by an earlier run, so that some of its jobs may have been final before this one.
  package let isOfEarlierRun: Bool
  private let unfinished: Mutex<(count: Int, failures: FailureList)>

  /// - Parameters:
  ///   - jobCount: the number of its unfinished jobs.
  ///   - isBeingAdmitted: true if more of them come, until ``endAdmission()``.
  package init(name: FileName, jobCount: Int, isOfEarlierRun: Bool = false, isBeingAdmitted: Bool = false) {
    self.name = name
    self.isOfEarlierRun = isOfEarlierRun
    unfinished = Mutex((jobCount + (isBeingAdmitted ? 1 : 0), FailureList()))
  }

  /// The number of its jobs that are not durable yet.
  package var unfinishedCount: Int { unfinished.withLock { $0.count } }

  /// Counts another unfinished job.
  package func expectJob() { unfinished.withLock { $0.count += 1 } }

  /// Counts so many jobs less, of which nothing was written.
  package func forgetJobs(_ count: Int) { unfinished.withLock { $0.count -= count } }

  /// Records that one of its jobs is durable; returns the failures of all of them, in the jobs' order, if it was the
  /// last.
  package func finish(_ job: FinishedJob) -> [String]? { finish(job.failureText, order: job.objectID.key) }

  /// Records that all its jobs were admitted; returns their failures if all of them are durable by then.
  package func endAdmission() -> [String]? { finish(nil, order: 0) }

  /// Records that one of its jobs was not admitted, after others were.
  package func note(failure text: String) { unfinished.withLock { $0.failures.add(text, order: .max) } }

  private func finish(_ failure: String?, order: Int64) -> [String]? {
    unfinished.withLock { state in
      state.count -= 1
      if let failure { state.failures.add(failure, order: order) }
      return state.count == 0 ? state.failures.texts : nil
    }
  }
}
