package import Jobs
package import ObjectGraph

/// Jobs that compete for the same resources; only a lane's first job has to be looked at.
struct Lane: Sendable {
  /// The resources that each of its jobs needs.
  struct Key: Hashable, Sendable {
    let queue: Int
    let type: Int
    /// The key that its jobs share, or -1.
    let limit: Int
    /// The hosts of a fleet that can run its jobs, or the file that they came in, or -1.
    var place = -1
  }

  /// The place where a lane waits.
  enum Place: Equatable, Sendable {
    /// Among those whose first job may start.
    case open
    /// With a resource that has no room.
    case parked(Int)
  }

  let resources: [Int]
  var place = Place.open
  var jobs = Heap<JobTurn>()

  init(_ key: Key) {
    resources = [0, key.queue, key.type] + [key.limit, key.place].filter { $0 >= 0 }
  }
}

/// A job's place in its lane: the lower order first, then the earlier arrival.
///
/// It may be stale: code that pops it from a heap compares it with the job in the slot.
struct JobTurn: Comparable, Sendable {
  let order: Int64
  let sequence: UInt64
  let slot: Int

  /// True if it is still the place of the job in its slot.
  func isCurrent(_ job: ScheduledJob) -> Bool {
    job.sequence == sequence && job.state == .available && job.order == order
  }

  static func < (left: Self, right: Self) -> Bool {
    left.order == right.order ? left.sequence < right.sequence : left.order < right.order
  }
}

/// A lane's place among others, which is that of its first job; may be stale too.
struct LaneTurn: Comparable, Sendable {
  let job: JobTurn
  let lane: Int

  static func < (left: Self, right: Self) -> Bool { left.job < right.job }
}

/// A job in the schedule: as small as possible, since there may be a million.
package struct ScheduledJob: Sendable {
  package let id: ManagedObjectID
  /// The file that it came in; nil for a job that was put back.
  package let file: LiveFile?
  /// The order of arrival.
  let sequence: UInt64
  var lane: Int32
  /// Its batch among ``Schedule/batches``, or -1.
  let batch: Int32
  /// The number of jobs or batches that it waits for.
  var blockers: Int32 = 0
  var priority: Int8
  package var state: JobState
  /// The time when it becomes ready: on the wall clock if scheduled, on the steady one if retryable.
  var due: Int64 = 0
  var dueIsSteady = false
  /// True if the end of the last run cut its attempt short: it has kept its place, but has not waited since it came there;
  /// ``due`` is when it came back.
  var isResumed = false
  /// Its place among others: the time when it became ready, in milliseconds of the steady clock, less its priority's
  /// worth.
  var order: Int64 = 0
}
