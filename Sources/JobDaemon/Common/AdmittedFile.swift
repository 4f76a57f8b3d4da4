import Fleet
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization

/// The result of admitting one file.
struct AdmittedFile: Sendable {
  let file: LiveFile
  /// True if it lay in `cur/` already.
  var isTakenUp = false
  /// True for a part of a file, which is not released with the jobs of this part.
  var isPart = false
  /// True if some of its jobs were admitted before, and are unfinished: they release it.
  var isLive = false
  /// Jobs for the schedule.
  var jobs: [NewJob] = []
  /// True if they are in the schedule already.
  var isScheduled = false
  /// Jobs that were cancelled before they began, as something that they depend on has failed.
  var finished: [FinishedJob] = []
  /// The objects of all jobs in the file, in order.
  var objectIDs: [ManagedObjectID] = []
  /// The IDs of all jobs in the file, in order.
  let ids: [String]
  /// Those among them that were known before, and are not run again.
  var repeated: Set<ManagedObjectID> = []
  /// True if some were known, and so may be held.
  var namesKnown: Bool { !repeated.isEmpty || !replacements.isEmpty }
  /// Known jobs whose place some of its jobs take; the others are scheduled once all of these are made.
  private(set) var replacements: [Replacement] = []
  /// The course of the replacements; nil if there are none, as for nearly all files.
  private(set) var replacing: Replacing?
  /// The IDs by which its jobs wait for others that nobody has submitted yet.
  var unknown: [ManagedObjectID: [String]] = [:]
  /// Other files' unfinished jobs: this file is released with them.
  var duplicatesOfLive: [ManagedObjectID] = []
  /// The failures of earlier, durable runs of its jobs; the file is released at once if it has no other jobs.
  var earlierFailures: [String] = []

  mutating func add(_ replacement: Replacement) {
    replacements.append(replacement)
    if replacing == nil { replacing = Replacing() }
  }

  /// The objects of the known jobs that are replaced.
  var replaced: Set<ManagedObjectID> { Set(replacements.lazy.map(\.job)) }
}

/// The course of a file's replacements.
final class Replacing: Sendable {
  /// Set once all are made, or can't be.
  let end = Later<Void>()
  /// The answer of a fleet's lead, which makes them.
  let answer = Later<Result<OrderAnswer.Content, any Error>>()
}

/// A new specification for a known job, which came in a file.
struct Replacement: Sendable {
  let job: ManagedObjectID
  let specification: JobSpecification
  let file: LiveFile
  let fileName: String
}
