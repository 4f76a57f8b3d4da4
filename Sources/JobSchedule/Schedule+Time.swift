import Jobs
package import ObjectGraph

/// Due times.
extension Schedule {
  /// Moves on jobs and resources whose time has come.
  ///
  /// - Returns: attempts whose timeout is due.
  package mutating func advance(to now: Moment) -> [ManagedObjectID] {
    var overdue: [ManagedObjectID] = []
    while let purpose = alarms.popDue(at: now) {
      switch purpose {
      case .job(let slot, _):
        // It may have another due time by now.
        guard isAwaited(purpose), let job = jobs[slot], isDue(job, now) else { continue }
        if apply(.due, to: slot) { makeReady(slot, since: now.steady) }
      case .resource(let index):
        resources[index].alarm = .max
        promote(index, at: now)
        forget(index, at: now)
      case .timeout(let slot, _, _):
        if isAwaited(purpose), let job = jobs[slot] { overdue.append(job.id) }
      }
    }
    return overdue
  }

  /// True if an alarm still matters: its job may have been cancelled, its attempt may have ended.
  private func isAwaited(_ purpose: Alarms.Purpose) -> Bool {
    switch purpose {
    case .resource: true
    case .job(let slot, let sequence):
      jobs[slot].map { $0.sequence == sequence && ($0.state == .scheduled || $0.state == .retryable) } ?? false
    case .timeout(let slot, let sequence, let attempt):
      jobs[slot].map { $0.sequence == sequence && $0.state == .running && attempts[$0.id] == attempt } ?? false
    }
  }

  /// Drops stale alarms once they are the greater part, so that long timeouts of short jobs cost nothing.
  private mutating func dropIdleAlarms() {
    if alarms.count > 2 * (count + resources.count) + 1_000 { alarms.keep(where: isAwaited) }
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
    dropIdleAlarms()
    let purpose = Alarms.Purpose.job(slot: slot, sequence: job.sequence)
    if job.state == .scheduled { alarms.arm(purpose, atWall: job.due) } else { alarms.arm(purpose, at: job.due) }
  }

  mutating func arm(resource index: Int, at time: Int64) {
    guard time < resources[index].alarm else { return }
    resources[index].alarm = time
    alarms.arm(.resource(index), at: time)
  }

  /// Reports an attempt as overdue at that time, if it still runs by then.
  package mutating func arm(timeoutOf id: ManagedObjectID, at time: Int64) {
    guard let slot = slots[id], let job = jobs[slot], let attempt = attempts[id] else { return }
    dropIdleAlarms()
    alarms.arm(.timeout(slot: slot, sequence: job.sequence, attempt: attempt), at: time)
  }
}
