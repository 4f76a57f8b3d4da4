package import Jobs
package import ObjectGraph

/// Dependencies of jobs on others.
extension Schedule {
  /// Blocks a job by something; a batch with no unfinished jobs blocks nothing.
  mutating func block(_ slot: Int, by blocker: NewJob.Blocker) {
    guard let job = jobs[slot] else { return }
    let waiting = Dependencies.Waiting(slot: slot, sequence: job.sequence, mayFail: blocker.mayFail)
    switch blocker.subject {
    case .job(let id): dependencies.onJobs[id, default: []].append(waiting)
    case .name(let name): dependencies.onNames[name, default: []].append(waiting)
    case .batch(let name):
      guard let batch = batchIndexes[name], batches[batch].unfinished > 0 else { return }
      batches[batch].waiting.append(waiting)
    }
    jobs[slot]?.blockers += 1
  }

  /// Resolves a name that others wait for: its job has come.
  package mutating func resolve(name: String, as id: ManagedObjectID) {
    guard !dependencies.onNames.isEmpty, let waiting = dependencies.onNames.removeValue(forKey: name) else { return }
    dependencies.onJobs[id, default: []] += waiting
    for one in waiting where isLive(one) {
      if let job = jobs[one.slot] { dependencies.need([id], by: job.id) }
    }
  }

  /// Records that a job is final, and unblocks those that wait for it.
  ///
  /// - Returns: jobs to be cancelled, since they depend on it.
  package mutating func finish(_ id: ManagedObjectID, as state: JobState, at now: Moment) -> [ManagedObjectID] {
    if let job = job(id) {
      dropClaims(of: job)
      if job.batch >= 0 { leave(Int(job.batch), at: now) }
    }
    return unblock(waitingFor: id, as: state, at: now)
  }

  /// Drops a job's unique key and its needs, as it is final or is replaced.
  mutating func dropClaims(of job: ScheduledJob) {
    if let unique = uniqueKeys.removeValue(forKey: job.id), uniqueOwners[unique] == job.id {
      uniqueOwners[unique] = nil
    }
    dependencies.drop(job.id)
    if job.blockers > 0 { dependencies.noteGone(jobCount: count, isLive) }
  }

  /// Unblocks those that wait for a job, by how the attempt ended. A quarantined job may still be completed one day.
  ///
  /// - Returns: jobs to be cancelled, since they depend on it.
  package mutating func unblock(
    waitingFor id: ManagedObjectID, as state: JobState, at now: Moment
  ) -> [ManagedObjectID] {
    var lost: [ManagedObjectID] = []
    var patient: [Dependencies.Waiting] = []
    for one in dependencies.onJobs.removeValue(forKey: id) ?? [] {
      guard isLive(one), let job = jobs[one.slot] else { continue }
      if !state.isFailure || one.mayFail {
        unblock(one.slot, at: now)
      } else if state == .quarantined {
        patient.append(one)
      } else {
        lost.append(job.id)
      }
    }
    if !patient.isEmpty { dependencies.onJobs[id] = patient }
    return lost
  }

  private func isLive(_ waiting: Dependencies.Waiting) -> Bool {
    jobs[waiting.slot].map { $0.sequence == waiting.sequence && !$0.state.isFinal } ?? false
  }

  mutating func leave(_ batch: Int, at now: Moment) {
    batches[batch].unfinished -= 1
    if batches[batch].unfinished > 0 { return }
    let waiting = batches[batch].waiting
    batches[batch].waiting = []
    for one in waiting where jobs[one.slot]?.sequence == one.sequence { unblock(one.slot, at: now) }
    forgetBatch(batch)
  }

  /// True if a job of the batch is unfinished, of those that are in here.
  package func hasUnfinished(inBatch name: String) -> Bool {
    batchIndexes[name].map { batches[$0].unfinished > 0 } ?? false
  }

  private mutating func unblock(_ slot: Int, at now: Moment) {
    jobs[slot]?.blockers -= 1
    guard let job = jobs[slot], job.blockers == 0, job.state == .waiting else { return }
    if job.due > now.wall {
      if apply(.unblockedEarly, to: slot) { arm(slot) }
    } else if apply(.unblocked, to: slot) {
      makeReady(slot, since: now.steady)
    }
  }

  /// True if a job of that name would wait for a job that waits for it, directly or through others.
  ///
  /// - Parameters:
  ///   - batch: its own batch.
  ///   - id: the job, if it is known already.
  package func closesCircle(
    _ name: String, _ blockers: [NewJob.Blocker], batch: String?, of id: ManagedObjectID? = nil
  ) -> Bool {
    var reached = dependencies.onNames[name]?.map(\.slot) ?? []
    if let id { reached += dependencies.onJobs[id]?.map(\.slot) ?? [] }
    if let batch = batch.flatMap({ batchIndexes[$0] }) { reached += batches[batch].waiting.map(\.slot) }
    if reached.isEmpty { return false }
    var wanted: Set<Int> = []
    var wantedBatches: Set<Int> = []
    for blocker in blockers {
      switch blocker.subject {
      case .job(let id): if let slot = slots[id] { wanted.insert(slot) }
      case .batch(let name): if let batch = batchIndexes[name] { wantedBatches.insert(batch) }
      case .name: break
      }
    }
    var seen = Set(reached)
    while let slot = reached.popLast() {
      guard let job = jobs[slot] else { continue }
      if wanted.contains(slot) || wantedBatches.contains(Int(job.batch)) { return true }
      var waiting = dependencies.onJobs[job.id] ?? []
      if job.batch >= 0 { waiting += batches[Int(job.batch)].waiting }
      for one in waiting where seen.insert(one.slot).inserted { reached.append(one.slot) }
    }
    return false
  }
}

/// The dependencies between jobs: which job waits for which.
package struct Dependencies: Sendable {
  /// A job that waits; the sequence tells it from a later one in the slot.
  struct Waiting: Sendable {
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
  package var needed: some Collection<ManagedObjectID> { needCounts.keys }

  /// An unfinished job that names another one; nil if none does.
  ///
  /// - Complexity: O(n) in the jobs that name others, if one does.
  package func dependent(on job: ManagedObjectID) -> ManagedObjectID? {
    needCounts[job] == nil ? nil : needs.first { $0.value.contains(job) }?.key
  }

  /// The unfinished jobs that name another one.
  ///
  /// - Complexity: O(n) in the jobs that name others, if one does.
  package func dependents(on job: ManagedObjectID) -> [ManagedObjectID] {
    needCounts[job] == nil ? [] : needs.filter { $0.value.contains(job) }.map(\.key)
  }

  /// Records that an unfinished job names others.
  mutating func need(_ jobs: [ManagedObjectID], by dependent: ManagedObjectID) {
    if jobs.isEmpty { return }
    needs[dependent, default: []] += jobs
    for job in jobs { needCounts[job, default: 0] += 1 }
  }

  /// Records that a job is final, and needs nothing any more.
  mutating func drop(_ dependent: ManagedObjectID) {
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
struct Batch: Sendable {
  let name: String
  var unfinished = 0
  var waiting: [Dependencies.Waiting] = []
}
