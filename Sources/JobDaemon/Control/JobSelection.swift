import Foundation
import JobSchedule
import Jobs
import ObjectGraph

/// An operator's selection of jobs; nil, or no state, matches any.
struct JobSelection: Sendable, Equatable {
  /// The most final jobs that are selected at once.
  static let limit = 100_000

  var states: Set<JobState> = []
  var queue: String?
  var type: String?
  var batch: String?

  /// A job that was selected.
  struct Found: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
  }

  /// The jobs: unfinished ones where no state is asked for.
  ///
  /// - Parameter scheduler: the schedule of all unfinished jobs; nil in a fleet, whose hosts know the records only.
  func find(_ context: isolated ManagedObjectContext, _ scheduler: Scheduler?) throws -> [Found] {
    var found = hasUnfinished ? scheduler?.read { schedule, _ in schedule.jobs(matching: self) } ?? [] : []
    let isRecorded = { (state: JobState) in state.isFinal || scheduler == nil }
    let asked = states.isEmpty ? Set(JobState.allCases.filter { !$0.isFinal }) : states
    for state in JobState.allCases where asked.contains(state) && isRecorded(state) {
      let request = FetchRequest<Job>(try condition([state]), limit: Self.limit - found.count)
      found += try context.fetchIDs(request).map { Found(objectID: $0, state: state) }
      if found.count >= Self.limit { break }
    }
    return found
  }

  /// True if unfinished jobs may be selected.
  private var hasUnfinished: Bool { states.isEmpty || states.contains { !$0.isFinal } }

  /// The condition on a job's record, with one of these states as it was last saved; any state if there are none.
  private func condition(_ states: some Collection<JobState>) throws -> Condition? {
    var conditions: [Condition] = []
    if let queue { conditions.append(try Condition(#Predicate<Job> { $0.queue == queue })) }
    if let type { conditions.append(try Condition(#Predicate<Job> { $0.type == type })) }
    if let batch { conditions.append(try Condition(#Predicate<Job> { $0.batch == batch })) }
    if !states.isEmpty {
      let names = states.map(\.rawValue)
      conditions.append(try Condition(#Predicate<Job> { names.contains($0.state) }))
    }
    return conditions.isEmpty ? nil : .and(conditions)
  }
}

extension Schedule {
  /// The unfinished jobs that a selection matches, in the order of their arrival.
  func jobs(matching selection: JobSelection) -> [JobSelection.Found] {
    jobs(inQueue: selection.queue, ofType: selection.type, ofBatch: selection.batch, in: selection.states)
      .map { JobSelection.Found(objectID: $0.id, state: $0.state) }
  }
}

extension JobSelection {
  /// Some of the jobs, and how many there are.
  typealias Page = (ids: [ManagedObjectID], total: Int)

  /// Some of the jobs, the last accepted first, and how many there are.
  ///
  /// Unfinished states are looked up in the schedule, since records tell the state at the last save.
  /// - Parameter scheduler: the schedule of all unfinished jobs; nil in a fleet, whose hosts know the records only.
  func page(
    _ context: isolated ManagedObjectContext, _ scheduler: Scheduler?, limit: Int, offset: Int
  ) throws -> Page {
    guard let scheduler else { return try recordedPage(states, context, limit: limit, offset: offset) }
    let final = states.filter(\.isFinal)
    if states.isEmpty || !hasUnfinished { return try recordedPage(final, context, limit: limit, offset: offset) }
    if !states.contains(where: \.isFinal) {
      return try unfinishedPage(context, scheduler, limit: limit, offset: offset)
    }
    // Of both kinds, as many as the page may hold.
    let unfinished = try unfinishedPage(context, scheduler, limit: offset + limit, offset: 0)
    let recorded = try recordedPage(final, context, limit: offset + limit, offset: 0)
    let shown = Set(unfinished.ids)
    let ids = unfinished.ids + recorded.ids.filter { !shown.contains($0) }
    let jobs = try context.fetch(FetchRequest<Job>(objectIDs: ids))
      .sorted { ($0.createdAt ?? .distantPast) > ($1.createdAt ?? .distantPast) }
    return (jobs.dropFirst(offset).prefix(limit).map(\.objectID), unfinished.total + recorded.total)
  }

  private func unfinishedPage(
    _ context: isolated ManagedObjectContext, _ scheduler: Scheduler, limit: Int, offset: Int
  ) throws -> Page {
    let found = scheduler.read { schedule, _ in schedule.jobs(matching: self) }
    return (found.reversed().dropFirst(offset).prefix(limit).map(\.objectID), found.count)
  }

  private func recordedPage(
    _ states: Set<JobState>, _ context: isolated ManagedObjectContext, limit: Int, offset: Int
  ) throws -> Page {
    var request = FetchRequest<Job>(try condition(states))
    let total = try context.count(for: request)
    request.sortDescriptors = [.descending("createdAt")]
    request.fetchLimit = limit
    request.fetchOffset = offset
    return (try context.fetchIDs(request), total)
  }
}
