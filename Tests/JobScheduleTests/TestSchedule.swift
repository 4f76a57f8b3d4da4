import Jobs
import ObjectGraph
import ObjectModel
import Testing

@testable import JobSchedule

/// A schedule with a clock that the test moves.
struct TestSchedule {
  var schedule = Schedule(agingStep: 60_000)
  var now = Moment(steady: 1_000, wall: 1_000_000_000_000)
  private var nextKey: Int64 = 1

  mutating func add(
    _ name: String, _ blockers: [NewJob.Blocker] = [], needs: [ManagedObjectID]? = nil,
    _ change: (inout JobSpecification) -> Void = { _ in }
  ) -> ManagedObjectID {
    var specification = JobSpecification(type: "noop", id: name)
    change(&specification)
    let id = ManagedObjectID(key: nextKey, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    nextKey += 1
    let needs = needs ?? blockers.compactMap { if case .job(let id) = $0.subject { id } else { nil } }
    schedule.add(
      NewJob(id: id, file: nil, specification: specification, name: name, blockers: blockers, needs: needs), at: now)
    return id
  }

  mutating func next() -> ManagedObjectID? { schedule.next(at: now)?.id }

  mutating func all() -> [ManagedObjectID] {
    var ids: [ManagedObjectID] = []
    while let id = next() { ids.append(id) }
    return ids
  }

  /// Ends an attempt and forgets the job if it is over.
  @discardableResult
  mutating func end(_ id: ManagedObjectID, _ event: JobEvent = .succeeded, delay: Int64 = 0) -> [ManagedObjectID] {
    let lost = schedule.endAttempt(of: id, event, delay: delay, at: now)
    if schedule.state(of: id)?.isFinal == true { schedule.remove(id, at: now) }
    return lost
  }

  /// Cancels a job, and tells those who wait for it; nil if it can't be cancelled.
  @discardableResult
  mutating func cancel(_ id: ManagedObjectID) -> [ManagedObjectID]? {
    guard schedule.cancel(id) else { return nil }
    let lost = schedule.finish(id, as: .cancelled, at: now)
    schedule.remove(id, at: now)
    return lost
  }

  mutating func wait(_ milliseconds: Int64) {
    now = Moment(steady: now.steady + milliseconds, wall: now.wall + milliseconds)
    _ = schedule.advance(to: now)
  }
}
