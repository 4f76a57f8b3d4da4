import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport

/// The known jobs, by their IDs.
struct KnownJobs {
  struct Entry: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
    let failure: String?
    /// Its submitter and type; nil for a record from before submitters were recorded.
    let origin: Origin?
    /// The file that it came in, and the spool of a fleet's host.
    var file: String?
    var spool: String?
  }

  /// The facts that a repetition of a job has in common with it.
  struct Origin: Sendable, Equatable {
    let submitter: Int64
    let type: String
  }

  private var entries: [String: Entry] = [:]

  /// Looks jobs up in a context that sees everything in main.
  ///
  /// - Parameter scheduler: the schedule of all unfinished jobs; nil in a fleet, whose hosts know the records only.
  init(_ ids: [String], _ context: isolated ManagedObjectContext, scheduler: Scheduler?) throws {
    try read(ids, context)
    guard let scheduler else { return }
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

  /// Checks that a known job is the same one: the same user's, and of the same type. Otherwise its submitter would be
  /// told that something was done that never was.
  func checkOrigin(of job: JobSpecification, submitter: Int64) throws(AdmissionRefusal) {
    guard let id = job.id, let known = entries[id]?.origin else { return }
    let name = "the ID \"\(displayName(id))\""
    if known.submitter != submitter {
      throw AdmissionRefusal(reason: "\(name) is that of another user's job; choose another one")
    }
    if known.type != job.type {
      throw AdmissionRefusal(
        reason: "\(name) is that of a job of the type \"\(known.type)\", not \"\(job.type)\"; choose another one")
    }
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
          objectID: job.objectID, state: job.currentState, failure: job.failure, origin: origin, file: job.file,
          spool: job.spool)
      }
    }
  }
}
