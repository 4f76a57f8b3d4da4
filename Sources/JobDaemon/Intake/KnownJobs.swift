import JobSchedule
import Jobs
import ObjectGraph

/// The known jobs, by their IDs.
struct KnownJobs {
  struct Entry: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
    let failure: String?
    /// Its submitter and type; nil for a record from before submitters were recorded.
    let origin: Origin?
  }

  /// The facts that a repetition of a job has in common with it.
  struct Origin: Sendable, Equatable {
    let submitter: Int64
    let type: String
  }

  private var entries: [String: Entry] = [:]

  /// Looks jobs up in a context that sees everything in main.
  init(_ ids: [String], _ context: isolated ManagedObjectContext, scheduler: Scheduler) throws {
    try read(ids, context)
    // A job that is unfinished by its record and not in the schedule was released since: its record says how the
    // attempt ended.
    let late = entries.filter { entry in
      !entry.value.state.isFinal && !scheduler.read { schedule, _ in schedule.contains(entry.value.objectID) }
    }
    if late.isEmpty { return }
    context.refreshAllObjects()
    try read(Array(late.keys), context)
  }

  subscript(id: String) -> Entry? {
    get { entries[id] }
    set { entries[id] = newValue }
  }

  /// The known jobs that a job waits for.
  func objects(namedBy job: JobSpecification) -> [ManagedObjectID] {
    (job.after + job.afterAny).compactMap { entries[$0]?.objectID }
  }

  private mutating func read(_ ids: [String], _ context: isolated ManagedObjectContext) throws {
    for start in stride(from: 0, to: ids.count, by: 1_000) {
      for job in try context.fetch(FetchRequest<Job>(ids: ids[start..<min(start + 1_000, ids.count)])) {
        let origin = job.submitter < 0 ? nil : Origin(submitter: job.submitter, type: job.type)
        entries[job.id] = Entry(
          objectID: job.objectID, state: job.currentState, failure: job.failure, origin: origin)
      }
    }
  }
}
