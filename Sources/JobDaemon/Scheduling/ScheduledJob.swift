import Jobs
import ObjectGraph

/// A job in the schedule: as small as possible, since there may be a million.
struct ScheduledJob {
  let id: ManagedObjectID
  /// The file that it came in; nil for a job that was put back.
  let file: LiveFile?
  /// The order of arrival.
  let sequence: UInt64
  var lane: Int32
  /// Its batch among ``Schedule/batches``, or -1.
  let batch: Int32
  /// The number of jobs or batches that it waits for.
  var blockers: Int32 = 0
  var priority: Int8
  var state: JobState
  /// The time when it becomes ready: on the wall clock if scheduled, on the steady one if retryable.
  var due: Int64 = 0
  var dueIsSteady = false
  /// Its place among others: the time when it became ready, in milliseconds of the steady clock, less its priority's
  /// worth.
  var order: Int64 = 0
}

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
