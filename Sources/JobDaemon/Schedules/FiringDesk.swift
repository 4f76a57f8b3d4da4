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
    let earlier = try order.previous.map(unfinishedJobs) ?? []
    _ = try intake.accept(file.data(waitingFor: earlier), as: name, submitter: Credentials.effectiveUser)
  }

  /// The IDs of those jobs of a firing that are unfinished.
  func unfinishedJobs(of firing: Firing) throws -> [String] {
    try ManagedObjectContext(parent: main, name: "schedules").performAndWait { context in
      try Self.jobs(of: firing, in: context).filter { !$0.currentState.isFinal }.map(\.id)
    }
  }

  /// The number of a firing's jobs in each state.
  static func states(of firing: Firing, in context: isolated ManagedObjectContext) throws -> [JobState: Int] {
    try jobs(of: firing, in: context).reduce(into: [:]) { $0[$1.currentState, default: 0] += 1 }
  }

  private static func jobs(of firing: Firing, in context: isolated ManagedObjectContext) throws -> [Job] {
    // It ends in a Z, so that no other firing's ID begins with it.
    try context.fetch(FetchRequest<Job>(format: "id BEGINSWITH %@", firing.id))
  }
}
