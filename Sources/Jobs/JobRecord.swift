import Foundation
import JSONText
public import ObjectGraph
import TextSupport

extension Job {
  /// The job's state as it was last saved; a name that is not known reads as ``JobState/held``, so that a job of a
  /// newer daemon is kept and not run.
  public var currentState: JobState {
    get { JobState(rawValue: state) ?? .held }
    set { state = newValue.rawValue }
  }

  /// The event that is to end or hold the job as soon as its attempt has ended and is reverted; nil if there is none.
  ///
  /// It is on record, so that the next start applies it if the daemon ends in between.
  package var pendingStop: JobEvent? { stopEvent.flatMap(JobEvent.init) }

  /// - Parameter reason: the failure that the job's record gets in the end.
  package func setPendingStop(_ event: JobEvent?, _ reason: String? = nil) {
    stopEvent = event?.rawValue
    stopReason = reason?.storable
  }

  /// Sets all that a file says of the job but its ID.
  ///
  /// - Parameter maxAttempts: the number of attempts, those of earlier runs included.
  package func setSpecification(_ specification: JobSpecification, maxAttempts: Int) {
    type = specification.type
    queue = specification.queue
    priority = Int32(specification.priority)
    self.maxAttempts = Int32(clamping: maxAttempts)
    arguments = specification.arguments.serialized()
    options = specification.options
    batch = specification.batch
    dueAt = specification.notBefore
  }
}

extension JobSpecification {
  /// A job as its record has it.
  ///
  /// - Parameter withArguments: true to read the arguments, too.
  /// - Throws: ``JobFileError`` if the record was edited and is invalid.
  package init(record job: Job, withArguments: Bool = true) throws(JobFileError) {
    self.init(
      type: job.type, id: job.id, queue: job.queue, priority: Int(job.priority), maxAttempts: Int(job.maxAttempts))
    notBefore = job.dueAt
    batch = job.batch
    // The most common text need not be parsed.
    if withArguments && job.arguments != "{}" { arguments = try Self.document(job.arguments, "arguments").value }
    if let options = job.options {
      if let mark = Self.onlyMark(in: options) { madeOf = mark } else { try readOptions(options) }
    }
  }
}

extension FetchRequest<Job> {
  /// Makes a request for the jobs in one of some states, as they were last saved.
  package init(states: some Sequence<JobState>) throws {
    let names = states.map(\.rawValue)
    try self.init(#Predicate { names.contains($0.state) })
  }

  /// Makes a request for the jobs in a state, as it was last saved.
  package init(state: JobState) throws {
    let name = state.rawValue
    try self.init(#Predicate { $0.state == name })
  }

  /// Makes a request for the jobs with these IDs.
  package init(ids: some Sequence<String>) throws {
    let ids = Array(ids)
    try self.init(#Predicate { ids.contains($0.id) })
  }

  /// Makes a request for the jobs with these object IDs.
  package init(objectIDs: some Sequence<ManagedObjectID>) {
    self.init(.isAny(of: objectIDs))
  }
}

extension ManagedObjectContext {
  /// Returns the job with that object ID, with its values.
  ///
  /// - Throws: ``ObjectNotFound`` if there is no such job.
  public func job(with id: ManagedObjectID) throws -> Job {
    guard let job = try existingObject(with: id) as? Job else { throw ObjectNotFound(objectID: id) }
    return job
  }
}
