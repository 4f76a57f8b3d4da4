import Jobs
import ObjectGraph

/// The moves that workers and operators make with jobs.
extension Schedule {
  /// Ends an attempt.
  ///
  /// - Parameters:
  ///   - event: how the attempt ended.
  ///   - delay: milliseconds until the next attempt, after ``JobEvent/failed``.
  /// - Returns: jobs to be cancelled, since they depend on it.
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
      jobs[slot]?.dueIsSteady = true
      arm(slot)
    case .available: makeReady(slot, since: now.steady)
    default: break
    }
    return state.isFinal ? settle(id, as: state, at: now) : []
  }

  /// Cancels a job that is not running; false if it is not here, runs, or is final.
  ///
  /// Those that wait for it are unblocked by ``finish(_:as:at:)``, once the end is on record.
  mutating func cancel(_ id: ManagedObjectID) -> Bool {
    guard let slot = slots[id], jobs[slot]?.state != .running else { return false }
    return apply(.cancelled, to: slot)
  }

  /// Holds a job that is not running; false if it is not here, runs, or can't be held.
  mutating func hold(_ id: ManagedObjectID) -> Bool {
    guard let slot = slots[id], jobs[slot]?.state != .running else { return false }
    // One that only waits for a handler is held by an operator from now on.
    if awaitingHandler.remove(id) != nil { return true }
    return apply(.held, to: slot)
  }

  /// The state in which a held job continues; nil if it is not held.
  func stateAfterRelease(of id: ManagedObjectID, at now: Moment) -> JobState? {
    guard let job = job(id), job.state == .held else { return nil }
    if job.blockers > 0 { return .waiting }
    return job.due > (job.dueIsSteady ? now.steady : now.wall) ? .scheduled : .available
  }

  /// Resumes a held job; false if it is not held.
  mutating func release(_ id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], let job = jobs[slot], let state = stateAfterRelease(of: id, at: now) else {
      return false
    }
    if state == .waiting { return apply(.releasedWaiting, to: slot) }
    if state == .scheduled {
      if job.dueIsSteady { jobs[slot]?.due = now.wall + job.due - now.steady }
      jobs[slot]?.dueIsSteady = false
      apply(.releasedEarly, to: slot)
      arm(slot)
    } else {
      apply(.released, to: slot)
      makeReady(slot, since: now.steady)
    }
    return true
  }

  /// Resumes jobs that are held because their type had no handler.
  mutating func releaseJobs(ofTypes isKnown: (String) -> Bool, at now: Moment) {
    for id in awaitingHandler {
      guard let job = job(id), case .type(let type) = resources[lanes[Int(job.lane)].resources[2]].name,
        isKnown(type)
      else { continue }
      awaitingHandler.remove(id)
      _ = release(id, at: now)
    }
  }

  /// Holds a job that waits for a time, so that it runs as soon as it is resumed; false if it does not wait for one.
  mutating func forgetTime(of id: ManagedObjectID) -> Bool {
    guard let slot = slots[id], let state = jobs[slot]?.state, state == .scheduled || state == .retryable,
      apply(.held, to: slot)
    else { return false }
    jobs[slot]?.due = 0
    return true
  }

  /// Gives an unfinished job another priority; false if it is not here.
  mutating func setPriority(_ priority: Int, of id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], let job = jobs[slot], !job.state.isFinal else { return false }
    jobs[slot]?.priority = Int8(clamping: priority)
    // It keeps the time that it has waited.
    if job.state == .available { makeReady(slot, since: job.order + Int64(job.priority) * agingStep) }
    return true
  }

  // MARK: Limits

  /// Stops or resumes the start of jobs.
  mutating func setPaused(_ isPaused: Bool, _ name: Resource.Name, at now: Moment) {
    let index = notePaused(isPaused, name)
    promote(index, at: now)
    forget(index, at: now)
  }

  /// Sets the limits of a queue or a type.
  mutating func setLimits(_ name: Resource.Name, concurrent: Int?, rate: JobLimit.Rate?, at now: Moment) {
    let index = resource(name)
    resources[index].concurrent = concurrent
    resources[index].rate = rate.map { resources[index].rate?.with($0) ?? RateLimiter($0) }
    promote(index, at: now)
    forget(index, at: now)
  }
}
