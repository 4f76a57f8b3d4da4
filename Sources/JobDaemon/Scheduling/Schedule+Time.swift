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
      case .job(let slot, _):
        // It may have been given another time.
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

  /// Whether an alarm still concerns anybody: its job may have been called off, its attempt be over.
  private func isAwaited(_ purpose: Alarms.Purpose) -> Bool {
    switch purpose {
    case .resource: true
    case .job(let slot, let sequence):
      jobs[slot].map { $0.sequence == sequence && ($0.state == .scheduled || $0.state == .retryable) } ?? false
    case .timeout(let slot, let sequence, let attempt):
      jobs[slot].map { $0.sequence == sequence && $0.state == .running && attempts[$0.id] == attempt } ?? false
    }
  }

  /// Drops alarms that concern nobody once they are the greater part, so that long timeouts of short jobs cost nothing.
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

  /// Tells of an attempt at that time, if it is not over by then.
  mutating func arm(timeoutOf id: ManagedObjectID, at time: Int64) {
    guard let slot = slots[id], let job = jobs[slot], let attempt = attempts[id] else { return }
    dropIdleAlarms()
    alarms.arm(.timeout(slot: slot, sequence: job.sequence, attempt: attempt), at: time)
  }
}
