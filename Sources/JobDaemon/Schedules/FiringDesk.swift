import Foundation
import Jobs
import ObjectGraph
import SystemSupport
import Timetable

/// Submits the jobs of firings, and knows what has become of those of earlier ones.
struct FiringDesk: Sendable {
  let main: ManagedObjectContext
  let spool: Spool
  let intake: Intake
  let scheduler: Scheduler

  /// No jobs can be accepted for the time being.
  struct IsClosed: Error, CustomStringConvertible {
    let description: String
  }

  /// Submits the jobs of a firing; they are durable once this returns. A repeated firing changes nothing.
  func submit(_ order: Timetable.Order, _ file: ScheduledFile) throws {
    if intake.refusal != nil { throw IsClosed(description: "no jobs are accepted at the moment") }
    if scheduler.isFull { throw IsClosed(description: "too many jobs are unfinished") }
    let name = Submitter.fileName(forFiring: order.firing.id)
    // It was submitted before the daemon ended, and is recovered.
    if try spool.current.contains(name) { return }
    let earlier = order.previous == nil ? [] : try unfinishedJobs(before: order.firing)
    let data = try file.data(of: order.firing, waitingFor: earlier)
    _ = try intake.accept(data, as: name, submitter: Credentials.effectiveUser)
  }

  /// The IDs of the unfinished jobs of the newest earlier firing that has any, which may wait for those before them: the last
  /// one may be cancelled or refused while another runs.
  private func unfinishedJobs(before firing: Firing) throws -> [String] {
    try ManagedObjectContext(parent: main, name: "schedules").performAndWait { context in
      let found = try Self.unfinishedJobs(of: firing.schedule, in: context).filter { $0.firing != firing }
      return found.filter { $0.firing == found.first?.firing }.map(\.id)
    }
  }

  /// True if a job of any firing of a schedule is unfinished.
  func hasUnfinishedJobs(of schedule: String) throws -> Bool {
    try ManagedObjectContext(parent: main, name: "schedules").performAndWait { context in
      try !Self.unfinishedJobs(of: schedule, in: context).isEmpty
    }
  }

  /// The unfinished jobs of a schedule's firings, the newest first.
  private static func unfinishedJobs(
    of schedule: String, in context: isolated ManagedObjectContext
  ) throws -> [(firing: Firing, id: String)] {
    var request = try FetchRequest<Job>(
      format: "id BEGINSWITH %@ AND submitter == %@ AND state IN %@", schedule + "@",
      Int64(Credentials.effectiveUser), JobState.unfinished.map(\.rawValue))
    request.sortDescriptors = [.descending("id")]
    return try context.fetch(request).compactMap { job in Firing(ofJob: job.id).map { (firing: $0, id: job.id) } }
  }

  /// True if jobs of the firing have records: this host or another one has submitted them.
  func isKnown(_ firing: Firing) throws -> Bool {
    try ManagedObjectContext(parent: main, name: "schedules").performAndWait { context in
      try !Self.jobs(of: firing, in: context).isEmpty
    }
  }

  /// The last firing of a schedule of which jobs are known, whichever host has submitted them; nil if there is none.
  func lastFiring(of schedule: String) throws -> Firing? {
    try ManagedObjectContext(parent: main, name: "schedules").performAndWait { context in
      try Self.lastJobs(of: schedule, limit: 1, in: context).first.flatMap { Firing(ofJob: $0.id) }
    }
  }

  /// The number of a firing's jobs in each state.
  static func states(of firing: Firing, in context: isolated ManagedObjectContext) throws -> [JobState: Int] {
    try jobs(of: firing, in: context).reduce(into: [:]) { $0[$1.currentState, default: 0] += 1 }
  }

  /// The jobs of a schedule's last firings, the newest first.
  static func lastJobs(
    of schedule: String, limit: Int, in context: isolated ManagedObjectContext
  ) throws -> [Job] {
    var request = try FetchRequest<Job>(
      format: "id BEGINSWITH %@ AND submitter == %@", schedule + "@", Int64(Credentials.effectiveUser))
    request.sortDescriptors = [.descending("id")]
    request.fetchLimit = limit
    return try context.fetch(request)
  }

  private static func jobs(of firing: Firing, in context: isolated ManagedObjectContext) throws -> [Job] {
    // It ends in a Z, so that no other firing's ID begins with it; anybody may give a job such an ID, though.
    try context.fetch(
      FetchRequest<Job>(
        format: "id BEGINSWITH %@ AND submitter == %@", firing.id, Int64(Credentials.effectiveUser)))
  }
}
