import ObjectGraph

/// Who waits for whom.
struct Dependencies {
  /// A job that waits; the sequence tells it from a later one in the slot.
  struct Waiting {
    let slot: Int
    let sequence: UInt64
    /// Whether it also goes on if what it waits for comes to nothing.
    let mayFail: Bool
  }

  var onJobs: [ManagedObjectID: [Waiting]] = [:]
  /// On jobs that nobody knows yet.
  var onNames: [String: [Waiting]] = [:]

  /// The jobs that each unfinished job names, over or not: after a restart it looks for their records again.
  private var needs: [ManagedObjectID: [ManagedObjectID]] = [:]
  /// How many unfinished jobs name each of them.
  private var needCounts: [ManagedObjectID: Int] = [:]
  /// Jobs that ended while they waited, since entries of such jobs were dropped.
  private var goneCount = 0

  /// Jobs whose records must stay while others need them.
  var needed: some Collection<ManagedObjectID> { needCounts.keys }

  /// Notes that an unfinished job names others.
  mutating func need(_ jobs: [ManagedObjectID], by dependent: ManagedObjectID) {
    if jobs.isEmpty { return }
    needs[dependent, default: []] += jobs
    for job in jobs { needCounts[job, default: 0] += 1 }
  }

  /// Notes that a job is over, and needs nothing any more.
  mutating func release(_ dependent: ManagedObjectID) {
    for job in needs.removeValue(forKey: dependent) ?? [] {
      let count = (needCounts[job] ?? 0) - 1
      needCounts[job] = count > 0 ? count : nil
    }
  }

  /// Notes that a job ended while it waited, and drops the entries of such jobs when there are many.
  ///
  /// - Parameters:
  ///   - jobCount: how many jobs there are.
  ///   - isLive: whether the one that waits is still there, and unfinished.
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
