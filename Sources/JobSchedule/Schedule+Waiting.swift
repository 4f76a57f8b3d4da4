package import Jobs

/// The numbers of jobs, and the times for which the ready ones have waited.
extension Schedule {
  /// The jobs of a queue or a type.
  package struct Backlog: Sendable {
    package let name: Resource.Name
    /// The number of jobs in each state, also of final ones that are not on disk yet.
    package let counts: [JobState: Int]
    /// The milliseconds for which the ready job that has waited longest has, to the second; for a queue only, and nil if
    /// none is ready.
    package let longestWait: Int64?
  }

  /// All queues and types that jobs name or that have limits. Cost: by their number, not by that of jobs.
  package func backlogs(at now: Moment) -> [Backlog] {
    queuesAndTypes.map { index in
      let resource = resources[index]
      return Backlog(
        name: resource.name, counts: resource.counts,
        longestWait: resource.readyTimes.oldest.map { max(0, now.steady - $0) })
    }
  }

  /// The milliseconds for which a job has been ready that starts now.
  package func waitingTime(of job: ScheduledJob, at now: Moment) -> Int64 {
    max(0, now.steady - (job.isResumed ? job.due : readyTime(of: job)))
  }

  /// When an available job became ready, on the steady clock.
  func readyTime(of job: ScheduledJob) -> Int64 { job.order + Int64(job.priority) * agingStep }

  mutating func noteReady(_ job: ScheduledJob, since time: Int64) {
    resources[queue(of: job)].readyTimes.add(time)
  }

  mutating func noteNotReady(_ job: ScheduledJob) {
    resources[queue(of: job)].readyTimes.remove(readyTime(of: job))
  }

  private func queue(of job: ScheduledJob) -> Int { lanes[Int(job.lane)].resources[1] }
}

/// The times at which jobs became ready: how many in each second.
struct ReadyTimes: Sendable {
  private var counts: [Int64: Int] = [:]

  /// The earliest of the times, in milliseconds, to the second. Cost: by the number of seconds.
  var oldest: Int64? { counts.keys.min().map { $0 * 1_000 } }

  mutating func add(_ time: Int64) { counts[time / 1_000, default: 0] += 1 }

  mutating func remove(_ time: Int64) {
    guard let count = counts[time / 1_000] else { return }
    counts[time / 1_000] = count > 1 ? count - 1 : nil
  }
}
