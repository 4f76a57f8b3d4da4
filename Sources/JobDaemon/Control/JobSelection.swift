import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph

/// An operator's selection of jobs; nil, or no state, matches any.
struct JobSelection: Sendable, Equatable {
  /// The most final jobs that are selected at once.
  static let limit = 100_000
  /// Unfinished jobs that are looked for at a time: those of a fleet come in one answer.
  private static let pageSize = 10_000

  var states: Set<JobState> = []
  var queue: String?
  var type: String?
  var batch: String?
  /// The user who submitted it, and the times between which it was accepted, the first included; only pages and counts
  /// ask for them.
  var submitter: UInt32?
  var since: Date?
  var until: Date?

  /// A job that was selected.
  struct Found: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
  }

  /// Some of the jobs, in the order of their keys: unfinished ones, also where no state is asked for.
  ///
  /// - Parameter key: that of the last unfinished job that was found before.
  /// - Returns: no jobs if that was the last.
  func nextUnfinished(after key: Int64, _ unfinished: UnfinishedJobs) throws -> [Found] {
    if !hasUnfinished { return [] }
    return try unfinished.find(selection(.following(key, limit: Self.pageSize))).jobs
      .map { Found(objectID: $0.id, state: $0.state) }
  }

  /// The final jobs in states that are asked for.
  func findFinal(_ context: isolated ManagedObjectContext) throws -> [Found] {
    var found: [Found] = []
    for state in JobState.allCases where states.contains(state) && state.isFinal {
      let request = FetchRequest<Job>(try condition([state]), limit: Self.limit - found.count)
      found += try context.fetchIDs(request).map { Found(objectID: $0, state: state) }
      if found.count >= Self.limit { break }
    }
    return found
  }

  private func selection(_ page: Schedule.Page) -> Order.Selection {
    Order.Selection(queue: queue, type: type, batch: batch, states: states, page: page)
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
    if let recorded = try recordCondition { conditions.append(recorded) }
    return conditions.isEmpty ? nil : .and(conditions)
  }

  /// The condition on what only a job's record tells; nil if anything will do.
  private var recordCondition: Condition? {
    get throws {
      var conditions: [Condition] = []
      if let submitter { conditions.append(try Condition(format: "submitter == %@", Int64(submitter))) }
      if let since { conditions.append(try Condition(format: "createdAt >= %@", since)) }
      if let until { conditions.append(try Condition(format: "createdAt < %@", until)) }
      return conditions.isEmpty ? nil : .and(conditions)
    }
  }
}

extension JobSelection {
  /// Some of the jobs, how many there are, and the states of those that are in the schedule.
  typealias Page = (ids: [ManagedObjectID], total: Int, states: [ManagedObjectID: JobState])

  /// Some of the jobs, the last accepted first, and how many there are.
  ///
  /// Unfinished states are looked up in the schedule, since records tell the state at the last save.
  func page(
    _ context: isolated ManagedObjectContext, _ schedule: UnfinishedJobs, limit: Int, offset: Int
  ) throws -> Page {
    let final = states.filter(\.isFinal)
    if states.isEmpty || !hasUnfinished { return try recordedPage(final, context, limit: limit, offset: offset) }
    if !states.contains(where: \.isFinal) {
      return try unfinishedPage(context, schedule, limit: limit, offset: offset)
    }
    // Of both kinds, as many as the page may hold.
    let unfinished = try unfinishedPage(context, schedule, limit: offset + limit, offset: 0)
    let recorded = try recordedPage(final, context, limit: offset + limit, offset: 0)
    let shown = Set(unfinished.ids)
    let ids = unfinished.ids + recorded.ids.filter { !shown.contains($0) }
    let jobs = try context.fetch(FetchRequest<Job>(objectIDs: ids))
      .sorted { ($0.createdAt ?? .distantPast) > ($1.createdAt ?? .distantPast) }
    let page = jobs.dropFirst(offset).prefix(limit).map(\.objectID)
    return (page, unfinished.total + recorded.total, unfinished.states)
  }

  private func unfinishedPage(
    _ context: isolated ManagedObjectContext, _ schedule: UnfinishedJobs, limit: Int, offset: Int
  ) throws -> Page {
    guard let recorded = try recordCondition else {
      let (found, total) = try schedule.find(selection(.newest(offset: offset, limit: limit)))
      return Self.page(found, total: total)
    }
    let found = try unfinished(meeting: recorded, context, schedule)
    return Self.page(found.dropFirst(offset).prefix(limit), total: found.count)
  }

  /// The unfinished jobs whose records meet a condition. The schedule knows no records, so that all are looked at.
  private func unfinished(
    meeting recorded: Condition, _ context: isolated ManagedObjectContext, _ schedule: UnfinishedJobs
  ) throws -> [UnfinishedJobs.Found] {
    let all = try schedule.find(selection(.newest(offset: 0, limit: Self.limit))).jobs
    var found: [UnfinishedJobs.Found] = []
    for start in stride(from: 0, to: all.count, by: 500) {
      let part = all[start..<min(start + 500, all.count)]
      let ids = Set(try context.fetchIDs(FetchRequest<Job>(.and([.isAny(of: part.map(\.id)), recorded]))))
      found += part.filter { ids.contains($0.id) }
    }
    return found
  }

  private static func page(_ found: some Collection<UnfinishedJobs.Found>, total: Int) -> Page {
    (found.map(\.id), total, Dictionary(found.map { ($0.id, $0.state) }) { first, _ in first })
  }

  /// The number of jobs by state, whichever states are selected.
  func counts(_ context: isolated ManagedObjectContext, _ schedule: UnfinishedJobs) throws -> [JobState: Int] {
    var all = self
    all.states = []
    var counts: [JobState: Int] = [:]
    if let recorded = try recordCondition {
      for job in try all.unfinished(meeting: recorded, context, schedule) { counts[job.state, default: 0] += 1 }
    } else {
      for state in JobState.allCases where !state.isFinal {
        all.states = [state]
        counts[state] = try schedule.find(all.selection(.newest(offset: 0, limit: 0))).total
      }
    }
    for state in JobState.allCases where state.isFinal {
      counts[state] = try context.count(for: FetchRequest<Job>(try condition([state])))
    }
    return counts.filter { $0.value > 0 }
  }

  private func recordedPage(
    _ states: Set<JobState>, _ context: isolated ManagedObjectContext, limit: Int, offset: Int
  ) throws -> Page {
    var request = FetchRequest<Job>(try condition(states))
    let total = try context.count(for: request)
    request.sortDescriptors = [.descending("createdAt")]
    request.fetchLimit = limit
    request.fetchOffset = offset
    return (try context.fetchIDs(request), total, [:])
  }
}
