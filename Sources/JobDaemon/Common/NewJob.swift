import Jobs
import ObjectGraph

/// A job to be put into the schedule.
struct NewJob: Sendable {
  let id: ManagedObjectID
  let file: LiveFile?
  var specification: JobSpecification
  /// The ID by which others name it.
  let name: String
  var isHeld = false
  /// The time of its next attempt, in milliseconds of the wall clock, if an attempt has failed.
  var retryTime: Int64?
  /// Unfinished jobs that it waits for.
  var blockers: [Blocker] = []
  /// The known jobs that it names, final or not.
  var needs: [ManagedObjectID] = []
  /// The milliseconds that it has waited already.
  var age: Int64 = 0

  /// Something that a job waits for.
  struct Blocker: Sendable {
    enum Subject: Sendable {
      case job(ManagedObjectID)
      /// A job that is not known yet.
      case name(String)
      case batch(String)
    }

    let subject: Subject
    /// True if it may fail.
    let mayFail: Bool
  }
}

/// The result of admitting one file.
struct AdmittedFile: Sendable {
  let file: LiveFile
  /// True if it lay in `cur/` already.
  var isTakenUp = false
  /// Jobs for the schedule.
  var jobs: [NewJob] = []
  /// Jobs that were cancelled before they began, as something that they depend on has failed.
  var finished: [FinishedJob] = []
  /// The objects of all jobs in the file, in order.
  var objectIDs: [ManagedObjectID] = []
  /// The IDs of all jobs in the file, in order.
  let ids: [String]
  /// Other files' unfinished jobs: this file is released with them.
  var duplicatesOfLive: [ManagedObjectID] = []
  /// The failures of earlier, durable runs of its jobs; the file is released at once if it has no other jobs.
  var earlierFailures: [String] = []
}
