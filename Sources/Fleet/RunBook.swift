import ObjectGraph

/// The runs of jobs, and which of them are told to end: the lead's view of the ledger's.
struct RunBook: Sendable {
  private var runs: [ManagedObjectID: Run] = [:]
  /// The orders to end runs, until they have ended.
  private var stops: [ManagedObjectID: RunStop] = [:]
  /// The last attempts of unfinished jobs that have had one.
  private var lastAttempts: [ManagedObjectID: Int] = [:]
  private var named = JobReferences()

  /// The run of a job, if it has one.
  subscript(job: ManagedObjectID) -> Run? { runs[job] }

  /// The order to end a job's run, if there is one.
  func stop(of job: ManagedObjectID) -> RunStop? { stops[job] }

  /// The next attempt at a job; each number is used once.
  func nextRun(of job: ManagedObjectID, on host: Int) -> Run {
    Run(job: job, host: host, attempt: (lastAttempts[job] ?? 0) + 1)
  }

  /// The number of a job's last attempt; 0 if it has had none, or is not known here.
  func lastAttempt(of job: ManagedObjectID) -> Int { lastAttempts[job] ?? 0 }

  /// Enters a run.
  mutating func begin(_ run: Run) {
    runs[run.job] = run
    lastAttempts[run.job] = run.attempt
  }

  /// Notes that a run is told to end.
  mutating func tell(_ stop: RunStop) { stops[stop.run.job] = stop }

  /// Removes a run, and returns what it was told.
  mutating func end(_ run: Run) -> RunStop? {
    runs[run.job] = nil
    return stops.removeValue(forKey: run.job)
  }

  /// Notes the number of a job's last attempt, if it has had one.
  mutating func note(attempt: Int, of job: ManagedObjectID) { if attempt > 0 { lastAttempts[job] = attempt } }

  /// Notes a job: its last attempt, if it has had one, and the jobs that it names.
  mutating func note(_ job: FleetJob) {
    note(attempt: job.attempt, of: job.id)
    named.add(job.names, by: job.id)
  }

  /// True if an unfinished job names the one of a name.
  func names(_ name: String) -> Bool { named.contains(name) }

  /// An unfinished job that names the one of a name; nil if none does.
  func dependent(on name: String) -> ManagedObjectID? { named.dependent(on: name) }

  /// Drops what is known of a job that has no run.
  mutating func forget(_ job: ManagedObjectID) {
    lastAttempts[job] = nil
    named.drop(job)
  }
}

/// The names by which unfinished jobs name others: whoever leads next looks for the records of these once more.
struct JobReferences: Sendable {
  private var counts: [String: Int] = [:]
  private var names: [ManagedObjectID: [String]] = [:]

  func contains(_ name: String) -> Bool { counts[name] != nil }

  /// A job that names the one of a name; nil if none does.
  ///
  /// - Complexity: O(n) in the jobs that name others, if one does.
  func dependent(on name: String) -> ManagedObjectID? {
    contains(name) ? names.first { $0.value.contains(name) }?.key : nil
  }

  /// Notes the jobs that an unfinished one names.
  mutating func add(_ new: [String], by id: ManagedObjectID) {
    drop(id)
    if new.isEmpty { return }
    names[id] = new
    for name in new { counts[name, default: 0] += 1 }
  }

  /// Notes that a job is final.
  mutating func drop(_ id: ManagedObjectID) {
    for name in names.removeValue(forKey: id) ?? [] {
      let count = counts[name, default: 0] - 1
      counts[name] = count > 0 ? count : nil
    }
  }
}
