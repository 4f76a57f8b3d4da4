import Jobs
import ObjectGraph

/// What the schedule knows of a job that is not released: as little as possible, since there may be a million.
struct ScheduledJob {
  let id: ManagedObjectID
  /// The file that it came in; nil for a job that somebody put back.
  let file: LiveFile?
  /// Tells the order of arrival.
  let sequence: UInt64
  var lane: Int32
  /// Its batch among ``Schedule/batches``, or -1.
  let batch: Int32
  /// How many jobs or batches it waits for.
  var blockers: Int32 = 0
  var priority: Int8
  var state: JobState
  /// When it becomes ready: on the wall clock for one that is scheduled, on the steady one for one to be tried again.
  var due: Int64 = 0
  var dueIsSteady = false
  /// Its place among others: when it was ready, in milliseconds of the steady clock, less what its priority is worth.
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
  /// When it may be tried again, in milliseconds of the wall clock, if an attempt has failed.
  var retryTime: Int64?
  /// Jobs that are not over and that it waits for.
  var blockers: [Blocker] = []
  /// The known jobs that it names, over or not.
  var needs: [ManagedObjectID] = []
  /// How long it has waited already, in milliseconds.
  var age: Int64 = 0

  /// Something that a job waits for.
  struct Blocker: Sendable {
    enum Subject: Sendable {
      case job(ManagedObjectID)
      /// A job that nobody knows yet.
      case name(String)
      case batch(String)
    }

    let subject: Subject
    /// Whether it may come to nothing.
    let mayFail: Bool
  }
}
