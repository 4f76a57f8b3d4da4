import Jobs
import ObjectGraph

/// The jobs that a new lead has still to take in: it assigns the first while it reads the others.
///
/// Those that others keep from running wait until all are read: what they wait for, and who has their unique key, can only
/// be told then. They are taken in by parts, so that what is due meanwhile is not late. Orders and questions wait for all.
struct Loading: Sendable {
  /// The jobs that are not read yet, in the order of the schedule.
  private var unread: ArraySlice<ManagedObjectID>
  private var late: [LateJob] = []
  /// The jobs that were put off, once all are read.
  private var latecomers: Latecomers?

  struct LateJob: Sendable {
    let job: FleetJob
    /// True if an earlier lead may have had it.
    let isKnown: Bool
  }

  /// The jobs that were put off, and those that they name.
  private struct Latecomers {
    private var jobs: [LateJob]
    /// The places of those that are still to be taken in, in the order of that.
    private var order: ArraySlice<Int32>
    private var known: [String: NamedJob]
    /// The ends of jobs since these were read.
    private var ends: [ManagedObjectID: JobState] = [:]

    init(_ jobs: [LateJob], known: [String: NamedJob]) {
      self.jobs = jobs
      self.known = known
      order = Self.order(of: jobs)[...]
    }

    var isEmpty: Bool { order.isEmpty }

    mutating func append(_ job: LateJob, known new: [String: NamedJob]) {
      order.append(Int32(jobs.count))
      jobs.append(job)
      // What is known already may be newer, with the ends since.
      known.merge(new) { earlier, _ in earlier }
    }

    /// Notes a new job, which others may name.
    mutating func note(_ job: FleetJob) {
      if known[job.name] == nil { known[job.name] = NamedJob(id: job.id, state: job.state) }
    }

    mutating func note(_ id: ManagedObjectID, as end: JobState) { ends[id] = end }

    mutating func next(limit: Int) -> (jobs: [LateJob], known: [String: NamedJob]) {
      let part = order.prefix(limit).map { jobs[Int($0)] }
      order = order.dropFirst(limit)
      var named: [String: NamedJob] = [:]
      for name in part.lazy.flatMap(\.job.names) {
        named[name] = known[name].map { NamedJob(id: $0.id, state: ends[$0.id] ?? $0.state) }
      }
      return (part, named)
    }

    /// The order of admission, but those that wait for a batch after its members, which may have come later.
    private static func order(of jobs: [LateJob]) -> [Int32] {
      let byAge = jobs.enumerated().lazy.map { (created: $1.job.created, key: $1.job.id.key, place: Int32($0)) }
        .sorted { ($0.created, $0.key) < ($1.created, $1.key) }
      func specification(_ place: Int32) -> JobSpecification { jobs[Int(place)].job.specification }
      var order: [Int32] = []
      var rest: [Int32] = []
      for one in byAge {
        if specification(one.place).afterBatch == nil { order.append(one.place) } else { rest.append(one.place) }
      }
      while !rest.isEmpty {
        let batches = Set(rest.compactMap { specification($0).batch })
        let free = rest.filter { !batches.contains(specification($0).afterBatch ?? "") }
        // A circle is opened somewhere.
        order += free.isEmpty ? rest : free
        rest = free.isEmpty ? [] : rest.filter { batches.contains(specification($0).afterBatch ?? "") }
      }
      return order
    }
  }

  init(_ unread: [ManagedObjectID]) { self.unread = unread[...] }

  /// Hands out what is to be read next, so many jobs at most; nil if all is read.
  mutating func next(limit: Int) -> ((Receipt) -> LedgerRequest)? {
    if latecomers != nil { return nil }
    if unread.isEmpty {
      let names = Set(late.lazy.flatMap(\.job.names))
      return { .loadRest(names: names, $0) }
    }
    let jobs = Array(unread.prefix(limit))
    unread = unread.dropFirst(limit)
    return { .loadJobs(jobs, $0) }
  }

  /// Puts off a job that has had no attempt, if others may keep it from running; false if it can be taken in at once.
  ///
  /// - Parameter known: by name, the jobs that it names and that are known; none for one that is read.
  mutating func putOff(_ job: FleetJob, isKnown: Bool, known: [String: NamedJob] = [:]) -> Bool {
    latecomers?.note(job)
    let specification = job.specification
    let needsNobody =
      specification.after.isEmpty && specification.afterAny.isEmpty && specification.afterBatch == nil
      && specification.unique == nil
    if needsNobody || job.isBegun || job.state.isFinal { return false }
    let one = LateJob(job: job, isKnown: isKnown)
    // What it names is read with the others' until all is read.
    if latecomers == nil { late.append(one) } else { latecomers?.append(one, known: known) }
    return true
  }

  // MARK: Those that were put off

  /// Notes that all jobs are read.
  ///
  /// - Parameter known: by name, those among the jobs which the ones that were put off name that are known.
  mutating func finishReading(known: [String: NamedJob]) {
    latecomers = Latecomers(late, known: known)
    late = []
  }

  /// True if all that was put off is handed out.
  var isOver: Bool { latecomers?.isEmpty == true }

  /// Hands out those that are to be taken in next, so many at most, and what is known of the jobs that they name.
  mutating func nextLatecomers(limit: Int) -> (jobs: [LateJob], known: [String: NamedJob]) {
    latecomers?.next(limit: limit) ?? ([], [:])
  }

  /// Notes that a job has ended, which others may name that were put off.
  mutating func note(_ id: ManagedObjectID, as state: JobState) { latecomers?.note(id, as: state) }
}
