import Jobs
import ObjectGraph

/// Which jobs an operator means; nil where any value will do.
struct JobSelection: Sendable, Equatable {
  /// The most jobs that are over and are selected at once.
  static let limit = 100_000

  var state: JobState?
  var queue: String?
  var type: String?
  var batch: String?

  /// A job that was selected.
  struct Found: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
  }

  /// The jobs: unfinished ones where no state is asked for.
  func find(_ context: isolated ManagedObjectContext, _ scheduler: Scheduler) throws -> [Found] {
    if let state, state.isFinal {
      let request = FetchRequest<Job>(condition, limit: Self.limit)
      return try context.fetchIDs(request).map { Found(objectID: $0, state: state) }
    }
    return scheduler.read { schedule, _ in schedule.jobs(matching: self) }
  }

  /// The condition that a job's record meets, with its state as it was last saved.
  var condition: Condition? {
    let parts = [("state", state?.rawValue), ("queue", queue), ("type", type), ("batch", batch)]
    let conditions = parts.compactMap { key, value in
      value.map { Condition.compare(.keyPath([key]), .equal, .value(.string($0)), []) }
    }
    return conditions.isEmpty ? nil : .and(conditions)
  }
}

extension Schedule {
  /// The unfinished jobs that a selection matches, in the order of their arrival.
  func jobs(matching selection: JobSelection) -> [JobSelection.Found] {
    let queue = selection.queue.map { resourceIndexes[.queue($0)] }
    let type = selection.type.map { resourceIndexes[.type($0)] }
    let batch = selection.batch.map { batchIndexes[$0] }
    // No job has a name that is not known.
    if queue == .some(nil) || type == .some(nil) || batch == .some(nil) { return [] }
    var found: [ScheduledJob] = []
    for job in jobs {
      guard let job, !job.state.isFinal else { continue }
      let resources = lanes[Int(job.lane)].resources
      if let queue, resources[1] != queue { continue }
      if let type, resources[2] != type { continue }
      if let batch, Int(job.batch) != batch { continue }
      if let state = selection.state, job.state != state { continue }
      found.append(job)
    }
    return found.sorted { $0.sequence < $1.sequence }
      .map { JobSelection.Found(objectID: $0.id, state: $0.state) }
  }
}

extension JobSelection {
  /// Some of the jobs, the last accepted first, and how many there are.
  ///
  /// Unfinished states are looked up in the schedule, since records tell the state at the last save.
  func page(
    _ context: isolated ManagedObjectContext, _ scheduler: Scheduler, limit: Int, offset: Int
  ) throws -> (jobs: [Job], total: Int) {
    if let state, !state.isFinal {
      let found = scheduler.read { schedule, _ in schedule.jobs(matching: self) }
      let ids = found.reversed().dropFirst(offset).prefix(limit).map(\.objectID)
      let jobs = try context.fetch(FetchRequest<Job>(.isIn(.evaluatedObject, ids.map(Operand.object), [])))
      let places = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($0.element, $0.offset) })
      return (jobs.sorted { (places[$0.objectID] ?? 0) < (places[$1.objectID] ?? 0) }, found.count)
    }
    var request = FetchRequest<Job>(condition)
    let total = try context.count(for: request)
    request.sortDescriptors = [.descending("createdAt")]
    request.fetchLimit = limit
    request.fetchOffset = offset
    return (try context.fetch(request), total)
  }
}
