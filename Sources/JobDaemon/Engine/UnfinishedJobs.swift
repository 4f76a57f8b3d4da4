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

  /// The unfinished jobs of a selection, where they are few.
  struct Candidates {
    /// All of them; nil if there are more than was asked for.
    var jobs: [Found]?
    let total: Int
    /// The state of one; nil if it is not unfinished.
    let state: (ManagedObjectID) -> JobState?
  }

  /// The most unfinished jobs of a fleet that its lead tells, in one answer: the last ones to arrive.
  private static let reach = 100_000

  /// The unfinished jobs of a selection, if they are few; how many there are in any case.
  ///
  /// Cost: a look at every job, unless their number is kept and says that they are many. A fleet's jobs beyond the last
  /// 100,000 are not told.
  /// - Throws: ``NoAnswer`` if a fleet has no lead.
  /// - Parameters:
  ///   - selection: its page does not matter.
  ///   - limit: the most that are few.
  func candidates(of selection: Order.Selection, limit: Int) throws -> Candidates {
    var selection = selection
    switch self {
    case .here(let scheduler):
      let state: (ManagedObjectID) -> JobState? = { id in scheduler.read { schedule, _ in schedule.state(of: id) } }
      let kept = scheduler.read { [selection] schedule, _ in
        schedule.keptCount(
          inQueue: selection.queue, ofType: selection.type, ofBatch: selection.batch, in: selection.states)
      }
      if let kept, kept > limit { return Candidates(total: kept, state: state) }
      selection.page = .newest(offset: 0, limit: limit)
      let (jobs, total) = try find(selection)
      return Candidates(jobs: total > limit ? nil : jobs, total: total, state: state)
    case .ofFleet:
      selection.page = .newest(offset: 0, limit: limit == 0 ? 0 : Self.reach)
      let (jobs, total) = try find(selection)
      let states = Dictionary(jobs.map { ($0.id, $0.state) }) { first, _ in first }
      return Candidates(jobs: total > limit ? nil : jobs, total: total) { states[$0] }
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

  /// The states of those of these jobs that are unfinished.
  ///
  /// - Throws: ``NoAnswer`` if a fleet has no lead that answers in time.
  func states(
    of ids: [ManagedObjectID], within limit: Duration = Membership.answerLimit
  ) throws -> [ManagedObjectID: JobState] {
    switch self {
    case .here(let scheduler):
      return scheduler.read { schedule, _ in
        Dictionary(uniqueKeysWithValues: Set(ids).compactMap { id in schedule.state(of: id).map { (id, $0) } })
      }
    case .ofFleet(let membership):
      guard case .found(let found, _) = try membership.ask(.states(ids), within: limit) else { throw NoAnswer() }
      return Dictionary(found.map { ($0.job, $0.state) }) { first, _ in first }
    }
  }

  /// The hosts that run some of these jobs; none without a fleet, where this host does.
  func places(of ids: some Collection<ManagedObjectID>) throws -> [ManagedObjectID: RunPlace] {
    guard case .ofFleet(let membership) = self, !ids.isEmpty else { return [:] }
    return try membership.reader().places(of: Array(ids))
  }
}
