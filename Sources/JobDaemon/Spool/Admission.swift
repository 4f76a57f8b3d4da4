import Configuration
import Foundation
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Turns claimed files into jobs: checks them, finds out which are known already, inserts the rest.
final class Admission: Sendable {
  /// Beyond so many attempts an interrupted one counts like a failed one.
  private static let interruptionLimit = 100

  private let main: ManagedObjectContext
  private let handlers: [String: any JobHandler]
  private let liveJobs: LiveJobs
  private let defaultAttempts: Mutex<Int>

  init(main: ManagedObjectContext, handlers: [String: any JobHandler], liveJobs: LiveJobs, maxAttempts: Int) {
    self.main = main
    self.handlers = handlers
    self.liveJobs = liveJobs
    defaultAttempts = Mutex(maxAttempts)
  }

  func setMaxAttempts(_ count: Int) { defaultAttempts.withLock { $0 = count } }

  /// Reads a file's jobs and checks types and arguments.
  func parse(_ file: ClaimedFile) throws(JobFileError) -> [JobSpecification] {
    try JobFile(file.data) { (job) throws(JobFileError) in
      guard let handler = handlers[job.type] else {
        throw JobFileError(unknownType(job.type), key: "type")
      }
      try handler.validate(job.arguments)
    }.jobs
  }

  private func unknownType(_ type: String) -> String {
    "there is no job type \"\(type)\"; there are \(handlers.keys.sorted().joined(separator: ", "))"
  }

  /// A file that was read, with its jobs.
  struct Candidate: Sendable {
    let file: ClaimedFile
    let jobs: [JobSpecification]
  }

  /// What became of one file.
  struct Admitted: Sendable {
    let file: LiveFile
    /// Jobs to run.
    let ready: [LiveJob]
    /// The IDs of all jobs in the file, in order.
    let ids: [String]
    /// IDs of other files' jobs that are live: this file is released with them.
    let duplicatesOfLive: [String]
    /// What earlier, durable runs of its jobs failed with; the file is released at once if it has no other jobs.
    let earlierFailures: [String]
    /// How many of its jobs are over.
    let finishedCount: Int
  }

  /// Admits files together, in one save.
  ///
  /// A job whose ID is in the store and over is not run again; one that is in the store and not over goes on.
  func admit(_ candidates: [Candidate]) throws -> [Admitted] {
    let ids = candidates.map { candidate in candidate.jobs.indices.map { id(of: candidate, $0) } }
    let context = ManagedObjectContext(parent: main, name: "admission")
    let attempts = defaultAttempts.withLock { $0 }
    // Looked up before the store is: a job that becomes durable in between is known as live, and not run again.
    let live = Set(ids.joined().filter { liveJobs[id: $0] != nil })
    let admitted = try context.performAndWait { context in
      let known = try self.known(ids.flatMap { $0 }, context)
      var started = live
      var result: [Admitted] = []
      for (candidate, ids) in zip(candidates, ids) {
        result.append(self.admit(candidate, ids, known, &started, attempts, context))
      }
      try context.save()
      return result
    }
    liveJobs.insert(admitted.flatMap(\.ready))
    return admitted
  }

  private func id(of candidate: Candidate, _ index: Int) -> String {
    candidate.jobs[index].id
      ?? (candidate.jobs.count == 1 ? candidate.file.defaultID : "\(candidate.file.defaultID).\(index + 1)")
  }

  /// What is known of a job by its ID.
  private struct KnownJob: Sendable {
    let objectID: ManagedObjectID
    let state: JobState
    let attempt: Int
    let maxAttempts: Int
    let failure: String?
  }

  private func known(
    _ ids: [String], _ context: isolated ManagedObjectContext
  ) throws -> [String: KnownJob] {
    let request = FetchRequest<Job>(.isIn(.keyPath(["id"]), ids.map { .value(.string($0)) }, []))
    var known: [String: KnownJob] = [:]
    for job in try context.fetch(request) {
      known[job.id] = KnownJob(
        objectID: job.objectID, state: job.currentState, attempt: Int(job.attempt),
        maxAttempts: Int(job.maxAttempts), failure: job.failure)
    }
    return known
  }

  private func admit(
    _ candidate: Candidate, _ ids: [String], _ known: [String: KnownJob], _ started: inout Set<String>,
    _ attempts: Int, _ context: isolated ManagedObjectContext
  ) -> Admitted {
    let unfinished = ids.count { !started.contains($0) && known[$0]?.state.isFinal != true }
    let file = LiveFile(name: candidate.file.name, submitter: candidate.file.submitter, jobCount: unfinished)
    var ready: [LiveJob] = []
    var duplicates: [String] = []
    var failures: [String] = []
    for (id, specification) in zip(ids, candidate.jobs) {
      if started.contains(id) {
        duplicates.append(id)
        continue
      }
      if let earlier = known[id], earlier.state.isFinal {
        if earlier.state == .discarded { failures.append("\(id): \(earlier.failure ?? "failed")") }
        continue
      }
      let job =
        known[id].map { resume($0, context) }
        ?? insert(id, specification, candidate.file, maxAttempts: specification.maxAttempts ?? attempts, context)
      started.insert(id)
      ready.append(
        LiveJob(
          id: id, objectID: job.objectID, specification: specification, maxAttempts: job.maxAttempts,
          attempt: job.attempt, byteCount: candidate.file.data.count / candidate.jobs.count, file: file,
          sequence: liveJobs.nextSequence()))
    }
    return Admitted(
      file: file, ready: ready, ids: ids, duplicatesOfLive: duplicates, earlierFailures: failures,
      finishedCount: ids.count - ready.count - duplicates.count)
  }

  /// Takes up a job of an earlier run. An attempt that the daemon's end cut short is made up for, within reason: a job
  /// that ends the daemon itself must not do so for ever.
  private func resume(_ known: KnownJob, _ context: isolated ManagedObjectContext) -> KnownJob {
    guard known.state == .running, let job = context.object(with: known.objectID) as? Job else { return known }
    job.currentState = .available
    if known.attempt < Self.interruptionLimit { job.maxAttempts += 1 }
    return KnownJob(
      objectID: known.objectID, state: .available, attempt: known.attempt, maxAttempts: Int(job.maxAttempts),
      failure: known.failure)
  }

  private func insert(
    _ id: String, _ specification: JobSpecification, _ file: ClaimedFile, maxAttempts: Int,
    _ context: isolated ManagedObjectContext
  ) -> KnownJob {
    let job = Job(context: context)
    job.id = id
    job.type = specification.type
    job.queue = specification.queue
    job.priority = Int32(specification.priority)
    job.maxAttempts = Int32(maxAttempts)
    job.arguments = specification.arguments.serialized()
    job.file = file.name.description
    job.submitter = Int64(file.submitter)
    job.createdAt = Date()
    return KnownJob(
      objectID: job.objectID, state: .available, attempt: 0, maxAttempts: maxAttempts, failure: nil)
  }
}
