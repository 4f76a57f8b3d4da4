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
