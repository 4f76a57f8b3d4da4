import Fleet
import Jobs
import ObjectGraph

/// Rows as the statements of several requests read and change them.
extension MemoryLedger {
  func runs(of host: Int, _ transaction: Transaction) -> [Run] {
    runs.all(for: transaction.id).lazy.map(\.row).filter { $0.host == host }.sorted { $0.job.key < $1.job.key }
  }

  func stops(of host: Int, _ transaction: Transaction) -> [RunStop] {
    runs(of: host, transaction).compactMap { stop(of: $0, transaction) }
  }

  func stop(of run: Run, _ transaction: Transaction) -> RunStop? {
    let stop = stops.row(run.job, for: transaction.id)
    return stop?.run == run ? stop : nil
  }

  func deleteRuns(of host: Int, _ transaction: Transaction) throws -> [Run] {
    let lost = runs(of: host, transaction)
    for run in lost {
      let stop = stop(of: run, transaction)
      try runs.write(run.job, nil, for: transaction.id)
      try change(run.job, transaction) { job in
        job.attempt = run.attempt
        if let stop, stop.event != .interrupted { self.tell(&job, stop.event, stop.reason ?? job.stop?.reason) }
      }
    }
    return lost
  }

  func change(
    _ id: ManagedObjectID, _ transaction: Transaction, _ body: (inout FleetJob) -> Void
  ) throws {
    try jobs.lock(id, for: transaction.id)
    guard var job = jobs.row(id, for: transaction.id) else { throw Undone.failed(.contradiction) }
    body(&job)
    try jobs.write(id, job, for: transaction.id)
  }

  /// Notes what a job is told; one that was given up keeps that end.
  func tell(_ job: inout FleetJob, _ event: JobEvent, _ reason: String?) {
    if job.stop?.event != .gaveUp { job.stop = (event, reason) }
  }

  func tell(_ news: News, _ transaction: Transaction) throws {
    lastNews += 1
    try inbox.write(lastNews, news, for: transaction.id)
  }
}
