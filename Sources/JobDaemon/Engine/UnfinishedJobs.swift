import Fleet
import JobSchedule
import Jobs
import ObjectGraph

/// The unfinished jobs, wherever their schedule is: in this process, or at the lead of a fleet.
enum UnfinishedJobs: Sendable {
  case here(Scheduler)
  case ofFleet(Membership)

  /// This host's schedule if that has all of them; nil in a fleet.
  var scheduler: Scheduler? { if case .here(let scheduler) = self { scheduler } else { nil } }

  /// The farthest job of a list that is told: those of a fleet come in one answer.
  var reach: Int { scheduler == nil ? 100_000 : .max }

  /// An unfinished job, and its state now.
  typealias Found = (id: ManagedObjectID, state: JobState)

  /// The page of a selection, and how many jobs match it.
  ///
  /// - Throws: ``NoAnswer`` if a fleet has no lead.
  func find(_ selection: Order.Selection) throws -> (jobs: [Found], total: Int) {
    switch self {
    case .here(let scheduler):
      let (found, total) = scheduler.read { schedule, _ in schedule.find(selection) }
      return (found.map { ($0.job, $0.state) }, total)
    case .ofFleet(let membership):
      guard case .found(let found, let total) = try membership.ask(.find(selection)) else { throw NoAnswer() }
      return (found.map { ($0.job, $0.state) }, total)
    }
  }

  /// The state of a job if it is unfinished, and what keeps it from running.
  ///
  /// - Throws: ``NoAnswer`` if a fleet has no lead.
  func explain(_ id: ManagedObjectID) throws -> (state: JobState?, obstacles: [Schedule.Obstacle]) {
    switch self {
    case .here(let scheduler):
      return scheduler.read { schedule, now in (schedule.state(of: id), schedule.obstacles(of: id, at: now)) }
    case .ofFleet(let membership):
      guard case .explanation(let state, let obstacles) = try membership.ask(.explain(id)) else {
        throw NoAnswer()
      }
      return (state, obstacles)
    }
  }

  /// The hosts that run some of these jobs; none without a fleet, where this host does.
  func places(of ids: some Collection<ManagedObjectID>) throws -> [ManagedObjectID: RunPlace] {
    guard case .ofFleet(let membership) = self, !ids.isEmpty else { return [:] }
    return try membership.reader().places(of: Array(ids))
  }
}
