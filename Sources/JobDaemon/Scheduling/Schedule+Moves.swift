import Jobs
import ObjectGraph

/// What workers and operators do with jobs.
extension Schedule {
  /// Ends an attempt.
  ///
  /// - Parameters:
  ///   - event: how it ended.
  ///   - delay: milliseconds until the next attempt, after ``JobEvent/failed``.
  /// - Returns: jobs that come to nothing with it.
  mutating func endAttempt(
    of id: ManagedObjectID, _ event: JobEvent, delay: Int64 = 0, at now: Moment
  ) -> [ManagedObjectID] {
    guard let slot = slots[id], jobs[slot]?.state == .running else { return [] }
    vacate(slot, at: now)
    attempts[id] = nil
    guard apply(event, to: slot), let state = jobs[slot]?.state else { return [] }
    switch state {
    case .retryable:
      jobs[slot]?.due = now.steady + delay
      arm(slot)
    case .available: makeReady(slot, since: now.steady)
    default: break
    }
    return state.isFinal ? settle(id, as: state, at: now) : []
  }

  /// Takes a job that does not run out of the schedule's hands, and gives it a final state.
  ///
  /// - Returns: jobs that come to nothing with it; nil if it is not here, runs, or is over.
  mutating func cancel(_ id: ManagedObjectID, at now: Moment) -> [ManagedObjectID]? {
    guard let slot = slots[id], jobs[slot]?.state != .running, apply(.cancelled, to: slot) else { return nil }
    return settle(id, as: .cancelled, at: now)
  }

  /// Puts a job aside that does not run; false if it is not here, runs, or can't be held.
  mutating func hold(_ id: ManagedObjectID) -> Bool {
    guard let slot = slots[id], jobs[slot]?.state != .running else { return false }
    return apply(.held, to: slot)
  }

  /// Lets a held job go on; false if it is not held.
  mutating func release(_ id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], let job = jobs[slot], job.state == .held else { return false }
    if job.blockers > 0 { return apply(.releasedWaiting, to: slot) }
    if job.due > now.wall {
      apply(.releasedEarly, to: slot)
      arm(slot)
    } else {
      apply(.released, to: slot)
      makeReady(slot, since: now.steady)
    }
    return true
  }

  /// Lets jobs go on that are held because nothing handled their type.
  mutating func releaseJobs(ofTypes isKnown: (String) -> Bool, at now: Moment) {
    for id in awaitingHandler {
      guard let job = job(id), case .type(let type) = resources[lanes[Int(job.lane)].resources[2]].name,
        isKnown(type)
      else { continue }
      awaitingHandler.remove(id)
      _ = release(id, at: now)
    }
  }

  /// Lets a job that waits for a time run now; false if it does not.
  mutating func runNow(_ id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], apply(.retried, to: slot) else { return false }
    jobs[slot]?.due = 0
    makeReady(slot, since: now.steady)
    return true
  }

  /// Gives an unfinished job another priority; false if it is not here.
  mutating func setPriority(_ priority: Int, of id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], let job = jobs[slot], !job.state.isFinal else { return false }
    jobs[slot]?.priority = Int8(clamping: priority)
    // It keeps the time for which it has waited.
    if job.state == .available { makeReady(slot, since: job.order + Int64(job.priority) * agingStep) }
    return true
  }

  // MARK: Limits

  /// Stops or resumes the start of jobs.
  mutating func setPaused(_ isPaused: Bool, _ name: Resource.Name, at now: Moment) {
    let index = resource(name)
    resources[index].isPaused = isPaused
    promote(index, at: now)
  }

  /// Bounds a queue or a type.
  mutating func setLimits(_ name: Resource.Name, concurrent: Int?, rate: JobLimit.Rate?, at now: Moment) {
    let index = resource(name)
    resources[index].concurrent = concurrent
    resources[index].rate = rate.map { resources[index].rate?.with($0) ?? RateLimiter($0) }
    promote(index, at: now)
  }
}
