import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph

/// A page of the jobs of a selection, found within a bounded time, however many jobs there are and wherever it begins.
///
/// What an index leads to is read in the order of the list, record by record, and tested in memory. So a page costs what
/// is looked at, which is bounded; where few of very many match, it is short, and the next one goes on behind it.
struct JobListing {
  struct Page {
    var jobs: [ManagedObjectID] = []
    /// The states that the schedule knows.
    var states: [ManagedObjectID: JobState] = [:]
    var count = JobCount()
    /// The position behind which the next page begins; nil at the end of the list.
    var next: JobPosition?
  }

  /// The most jobs that are counted, and the most unfinished ones that are put into order by themselves.
  static let countLimit = 10_000
  static let candidateLimit = 2_000
  private static let chunkSize = 500

  let selection: JobSelection
  let order: JobOrder
  let limit: Int
  /// True if the number of jobs by state is wanted, too.
  var countsStates = false
  var cursor: JobCursor?
  /// The time for which records are looked at; those of one chunk always are.
  var time = Duration.milliseconds(10)

  /// Jobs that match in the order of the list, as far as they were looked for.
  private struct Run {
    var found: [(position: JobPosition, id: ManagedObjectID)] = []
    /// The last position that was looked at; nil at the end.
    var frontier: JobPosition?
  }

  func page(_ context: isolated ManagedObjectContext, _ unfinished: UnfinishedJobs) throws -> Page {
    let deadline = ContinuousClock.now + time
    var page = Page()
    var runs: [Run] = []
    var scheduled: Int?
    if !selection.states.isEmpty, selection.hasUnfinished {
      let candidates = try unfinished.candidates(
        of: selection.selection(.newest(offset: 0, limit: 0)), limit: Self.candidateLimit)
      if selection.record == RecordTest() { scheduled = candidates.total }
      if let jobs = candidates.jobs {
        page.states = Dictionary(jobs.map { ($0.id, $0.state) }) { first, _ in first }
        runs.append(try run(among: jobs.map(\.id), context))
      } else {
        // So many that they are met on the way, which the states of their records lead.
        let states = selection.states.filter { !$0.isFinal }
        for state in JobState.allCases where states.contains(where: { $0.mayHave(recorded: state) }) {
          runs.append(
            try run(over: state, context, until: deadline) { job in
              states.contains(candidates.state(job.objectID) ?? job.currentState)
            })
        }
      }
    }
    if selection.states.isEmpty {
      runs.append(try run(over: nil, context, until: deadline))
    } else {
      for state in selection.finalStates { runs.append(try run(over: state, context, until: deadline)) }
    }
    page.count = try count(runs, context, scheduled: scheduled)
    return finished(page, runs)
  }

  /// Puts the runs together, as far as all of them were looked at.
  private func finished(_ page: Page, _ runs: [Run]) -> Page {
    var page = page
    let frontier = runs.compactMap(\.frontier).min(by: order.precedes)
    var seen: Set<ManagedObjectID> = []
    let known = runs.flatMap(\.found).sorted { order.precedes($0.position, $1.position) }
      .filter { job in frontier.map { !order.precedes($0, job.position) } ?? true }
      // One that has just ended may be in two runs.
      .filter { seen.insert($0.id).inserted }
    page.jobs = known.prefix(limit).map(\.id)
    page.next = known.count > limit ? known[limit - 1].position : frontier
    return page
  }

  /// The jobs among these that match, behind the cursor.
  private func run(among ids: [ManagedObjectID], _ context: isolated ManagedObjectContext) throws -> Run {
    var run = Run()
    for start in stride(from: 0, to: ids.count, by: Self.chunkSize) {
      let part = ids[start..<min(start + Self.chunkSize, ids.count)]
      for job in try context.fetch(FetchRequest<Job>(objectIDs: part)) where selection.matches(job) {
        let position = JobPosition(job)
        if let cursor, !order.precedes(cursor.position, position) { continue }
        run.found.append((position, job.objectID))
      }
      context.reset()
    }
    return run
  }

  /// The jobs that match behind the cursor, one more than the page holds.
  ///
  /// - Parameters:
  ///   - state: the state of their records; nil for any.
  ///   - isAlso: tests more than the selection.
  private func run(
    over state: JobState?, _ context: isolated ManagedObjectContext, until deadline: ContinuousClock.Instant,
    isAlso: ((Job) -> Bool)? = nil
  ) throws -> Run {
    var run = Run()
    var position = cursor?.position
    while run.found.count <= limit {
      var request = FetchRequest<Job>(try condition(state, behind: position), sortBy: order.sorts)
      // What is led to by an index alone is all wanted.
      let isAllWanted = isAlso == nil && isLed(by: state)
      let size = isAllWanted ? min(limit + 1 - run.found.count, Self.chunkSize) : Self.chunkSize
      request.fetchLimit = size
      let jobs = try context.fetch(request)
      for job in jobs {
        position = JobPosition(job)
        if state.map({ job.currentState == $0 }) ?? true, selection.matches(job), isAlso?(job) ?? true,
          let position
        {
          run.found.append((position, job.objectID))
          if run.found.count > limit { break }
        }
      }
      let isEnd = jobs.count < size && run.found.count <= limit
      context.reset()
      if isEnd { return run }
      if .now >= deadline { break }
    }
    run.frontier = position
    return run
  }

  /// The condition of the one index that leads through the list; all others are tested in memory, lest the database take
  /// another way.
  private func condition(_ state: JobState?, behind position: JobPosition?) throws -> Condition? {
    var conditions: [Condition] = []
    if let batch = selection.batch {
      conditions.append(try Condition(#Predicate<Job> { $0.batch == batch }))
    } else if let state = state?.rawValue, state != JobState.completed.rawValue || selection.type == nil {
      conditions.append(try Condition(#Predicate<Job> { $0.state == state }))
    } else if let type = selection.type {
      conditions.append(try Condition(#Predicate<Job> { $0.type == type }))
    }
    if let since = selection.record.since { conditions.append(try Condition(format: "createdAt >= %@", since)) }
    if let until = selection.record.until { conditions.append(try Condition(format: "createdAt < %@", until)) }
    if let position { conditions.append(try order.condition(behind: position)) }
    return conditions.isEmpty ? nil : .and(conditions)
  }

  /// True if the index that leads through the list tells all that is asked for.
  private func isLed(by state: JobState?) -> Bool {
    var times = RecordTest()
    (times.since, times.until) = (selection.record.since, selection.record.until)
    let conditions = [state != nil, selection.batch != nil, selection.type != nil, selection.queue != nil]
    return selection.record == times && selection.queue == nil && conditions.count { $0 } <= 1
  }

  /// The number of all jobs that match: that of the list if it is short, what is kept or an index tells up to a limit, or
  /// else what was seen.
  private func count(
    _ runs: [Run], _ context: isolated ManagedObjectContext, scheduled: Int?
  ) throws -> JobCount {
    if let cursor { return cursor.count }
    let seen = runs.reduce(0) { $0 + $1.found.count }
    if runs.allSatisfy({ $0.frontier == nil }) { return JobCount(number: seen) }
    let states = selection.states.isEmpty ? [nil] : selection.finalStates.map(JobState?.some)
    let isUnscheduled = selection.states.isEmpty || !selection.hasUnfinished
    guard states.allSatisfy(isLed), isUnscheduled || scheduled != nil else {
      return JobCount(number: seen, isAtLeast: true)
    }
    var count = JobCount(number: scheduled ?? 0)
    for state in states {
      let request = FetchRequest<Job>(try condition(state, behind: nil), limit: Self.countLimit + 1)
      let found = try context.count(for: request)
      count.number += min(found, Self.countLimit)
      if found > Self.countLimit { count.isAtLeast = true }
    }
    return count
  }
}

extension JobState {
  /// True if the record of an unfinished job in this state may have another one: what comes by itself is not recorded.
  fileprivate func mayHave(recorded state: JobState) -> Bool {
    switch self {
    case .waiting: state == self
    // Those of a type that nothing handles are held in the schedule only.
    case .held: !state.isFinal
    case .scheduled, .retryable: [.scheduled, .retryable, .waiting].contains(state)
    default: !state.isFinal && state != .held
    }
  }
}
