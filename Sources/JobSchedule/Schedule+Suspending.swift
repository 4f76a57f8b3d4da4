import Jobs
package import ObjectGraph

/// Jobs that are kept from running for a moment, while they are changed.
extension Schedule {
  /// The place to which a suspended job goes back.
  package struct Suspension: Sendable {
    fileprivate let id: ManagedObjectID
    fileprivate let state: JobState
    /// When it became ready, on the steady clock, if it was.
    fileprivate let readyTime: Int64
  }

  /// Holds a job that is not running, until ``end(_:at:)``; nil if it is not here, runs, or can't be held.
  package mutating func suspend(_ id: ManagedObjectID) -> Suspension? {
    guard let job = job(id), hold(id) else { return nil }
    return Suspension(id: id, state: job.state, readyTime: readyTime(of: job))
  }

  /// Puts a job back to the state and the place that it had, unless something else has happened to it.
  package mutating func end(_ suspension: Suspension, at now: Moment) {
    guard let slot = slots[suspension.id], jobs[slot]?.state == .held else { return }
    switch suspension.state {
    case .available:
      enter(.available, slot)
      makeReady(slot, since: suspension.readyTime)
    case .retryable:
      enter(.retryable, slot)
      arm(slot)
    default: _ = resume(suspension.id, at: now)
    }
  }
}
