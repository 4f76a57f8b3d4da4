import JobSchedule
import ObjectGraph

/// The result of admitting one file.
struct AdmittedFile: Sendable {
  let file: LiveFile
  /// True if it lay in `cur/` already.
  var isTakenUp = false
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
  /// The IDs by which its jobs wait for others that nobody has submitted yet.
  var unknown: [ManagedObjectID: [String]] = [:]
  /// Other files' unfinished jobs: this file is released with them.
  var duplicatesOfLive: [ManagedObjectID] = []
  /// The failures of earlier, durable runs of its jobs; the file is released at once if it has no other jobs.
  var earlierFailures: [String] = []
}
