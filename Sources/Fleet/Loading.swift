import ObjectGraph

/// The jobs that a new lead has still to take in: it assigns the first while it reads the others.
///
/// Those that others keep from running wait until all are there: what they wait for, who has their unique key, and whose
/// turn it is among them can only be told then. So do orders and questions.
struct Loading: Sendable {
  /// The jobs that are not read yet, in the order of the schedule.
  private var unread: ArraySlice<ManagedObjectID>
  private var late: [LateJob] = []

  struct LateJob: Sendable {
    let job: FleetJob
    /// True if an earlier lead may have had it.
    let isKnown: Bool
  }

  init(_ unread: [ManagedObjectID]) { self.unread = unread[...] }

  /// Hands out what is to be read next, so many jobs at most.
  mutating func next(limit: Int) -> (Receipt) -> LedgerRequest {
    if unread.isEmpty {
      let names = Set(late.flatMap { $0.job.specification.after + $0.job.specification.afterAny })
      return { .loadRest(names: names, $0) }
    }
    let jobs = Array(unread.prefix(limit))
    unread = unread.dropFirst(limit)
    return { .loadJobs(jobs, $0) }
  }

  /// Puts off a job that has had no attempt, if others may keep it from running; false if it can be taken in at once.
  mutating func putOff(_ job: FleetJob, isKnown: Bool) -> Bool {
    let specification = job.specification
    let needsNobody =
      specification.after.isEmpty && specification.afterAny.isEmpty && specification.afterBatch == nil
      && specification.unique == nil
    if needsNobody || job.isBegun || job.state.isFinal { return false }
    late.append(LateJob(job: job, isKnown: isKnown))
    return true
  }

  /// The jobs that were put off, in the order of their admission, but those that wait for a batch after its members, which
  /// may have come later.
  var latecomers: [LateJob] {
    let jobs = late.sorted { ($0.job.created, $0.job.id.key) < ($1.job.created, $1.job.id.key) }
    var sorted = jobs.filter { $0.job.specification.afterBatch == nil }
    var rest = jobs.filter { $0.job.specification.afterBatch != nil }
    while !rest.isEmpty {
      let batches = Set(rest.compactMap(\.job.specification.batch))
      let free = rest.filter { !batches.contains($0.job.specification.afterBatch ?? "") }
      // A circle is opened somewhere.
      sorted += free.isEmpty ? rest : free
      rest = free.isEmpty ? [] : rest.filter { batches.contains($0.job.specification.afterBatch ?? "") }
    }
    return sorted
  }
}
