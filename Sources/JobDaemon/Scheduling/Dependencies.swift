import ObjectGraph

/// The dependencies between jobs: which job waits for which.
struct Dependencies {
  /// A job that waits; the sequence tells it from a later one in the slot.
  struct Waiting {
    let slot: Int
    let sequence: UInt64
    /// True if it continues even if what it waits for fails.
    let mayFail: Bool
  }

  var onJobs: [ManagedObjectID: [Waiting]] = [:]
  /// Dependencies on jobs that are not known yet.
  var onNames: [String: [Waiting]] = [:]

  /// The jobs that each unfinished job names, final or not: after a restart it looks for their records again.
  private var needs: [ManagedObjectID: [ManagedObjectID]] = [:]
  /// The number of unfinished jobs that name each of them.
  private var needCounts: [ManagedObjectID: Int] = [:]
  /// Jobs that ended while they waited, since entries of such jobs were dropped.
  private var goneCount = 0

  /// Jobs whose records must stay while others need them.
  var needed: some Collection<ManagedObjectID> { needCounts.keys }

  /// Records that an unfinished job names others.
  mutating func need(_ jobs: [ManagedObjectID], by dependent: ManagedObjectID) {
    if jobs.isEmpty { return }
    needs[dependent, default: []] += jobs
    for job in jobs { needCounts[job, default: 0] += 1 }
  }

  /// Records that a job is final, and needs nothing any more.
  mutating func release(_ dependent: ManagedObjectID) {
    for job in needs.removeValue(forKey: dependent) ?? [] {
      let count = (needCounts[job] ?? 0) - 1
      needCounts[job] = count > 0 ? count : nil
    }
  }

  /// Records that a job ended while it waited, and drops the entries of such jobs when there are many.
  ///
  /// - Parameters:
  ///   - jobCount: the number of jobs in the schedule.
  ///   - isLive: true if the job that waits is still there, and unfinished.
  mutating func noteGone(jobCount: Int, _ isLive: (Waiting) -> Bool) {
    goneCount += 1
    if goneCount <= jobCount + 1_000 { return }
    goneCount = 0
    onJobs = onJobs.compactMapValues { Self.kept($0, isLive) }
    onNames = onNames.compactMapValues { Self.kept($0, isLive) }
  }

  private static func kept(_ list: [Waiting], _ isLive: (Waiting) -> Bool) -> [Waiting]? {
    let kept = list.filter(isLive)
    return kept.isEmpty ? nil : kept
  }
}

/// Jobs that were submitted together, or name the same batch.
struct Batch {
  let name: String
  var unfinished = 0
  var waiting: [Dependencies.Waiting] = []
}
