import Jobs
import ObjectGraph

/// What is due.
extension Schedule {
  /// Lets go on what waited for a time that has come.
  ///
  /// - Returns: attempts that have taken as long as they may.
  mutating func advance(to now: Moment) -> [ManagedObjectID] {
    var overdue: [ManagedObjectID] = []
    while let purpose = alarms.takeDue(at: now) {
      switch purpose {
      case .job(let slot, let sequence):
        // It may have been called off, or been given another time.
        guard let job = jobs[slot], job.sequence == sequence, isDue(job, now) else { continue }
        if apply(.due, to: slot) { makeReady(slot, since: now.steady) }
      case .resource(let index):
        resources[index].alarm = .max
        promote(index, at: now)
        forget(index, at: now)
      case .timeout(let slot, let sequence, let attempt):
        guard let job = jobs[slot], job.sequence == sequence, job.state == .running, attempts[job.id] == attempt
        else { continue }
        overdue.append(job.id)
      }
    }
    return overdue
  }

  private func isDue(_ job: ScheduledJob, _ now: Moment) -> Bool {
    switch job.state {
    case .scheduled: job.due <= now.wall
    case .retryable: job.due <= now.steady
    default: false
    }
  }

  /// Wakes a job that is scheduled or retryable when it is due.
  mutating func arm(_ slot: Int) {
    guard let job = jobs[slot] else { return }
    let purpose = Alarms.Purpose.job(slot: slot, sequence: job.sequence)
    if job.state == .scheduled { alarms.arm(purpose, atWall: job.due) } else { alarms.arm(purpose, at: job.due) }
  }

  mutating func arm(resource index: Int, at time: Int64) {
    guard time < resources[index].alarm else { return }
    resources[index].alarm = time
    alarms.arm(.resource(index), at: time)
  }

  /// Tells of an attempt at that time, if it is not over by then.
  mutating func arm(timeoutOf id: ManagedObjectID, at time: Int64) {
    guard let slot = slots[id], let job = jobs[slot], let attempt = attempts[id] else { return }
    alarms.arm(.timeout(slot: slot, sequence: job.sequence, attempt: attempt), at: time)
  }
}
