import Configuration
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport

/// Admits claimed files: checks them, recognizes jobs that are known already, inserts the rest; a fleet's into its ledger.
///
/// Not thread-safe: what one admission has found must hold until its jobs are in the schedule.
final class Admission: Sendable {
  private let main: ManagedObjectContext
  private let handlers: HandlerTable
  private let scheduler: Scheduler
  private let policy: JobPolicy
  private let fleet: FleetAdmission?
  private let spool: String

  /// - Parameters:
  ///   - spool: the name of this host's spool among those of a fleet.
  ///   - fleet: nil without a fleet.
  init(
    main: ManagedObjectContext, handlers: HandlerTable, scheduler: Scheduler, policy: JobPolicy, spool: String,
    fleet: FleetAdmission? = nil
  ) {
    self.main = main
    self.spool = spool
    self.handlers = handlers
    self.scheduler = scheduler
    self.policy = policy
    self.fleet = fleet
  }

  /// Reads a file's jobs and checks types and arguments.
  func parse(_ file: ClaimedFile) throws(JobFileError) -> JobFile {
    try handlers.parse(file.data, at: fleet?.now ?? Date(), policy.configuration.value.jobs.unknownTypes)
  }

  /// Inserts the jobs of files together, in one save; the caller schedules them.
  ///
  /// A job whose ID is known is not run again, whether it is final or not.
  ///
  /// - Returns: the result for each file, in their order.
  func admit(_ candidates: [AdmissionCandidate]) throws -> [Result<AdmittedFile, AdmissionRefusal>] {
    let jobs = try specifications(of: candidates)
    if let fleet { return try fleet.admit(Array(zip(candidates, jobs))) }
    let names = jobs.joined().flatMap { [$0.id ?? ""] + $0.after + $0.afterAny }
    let context = ManagedObjectContext(parent: main, name: "admission")
    return try context.performAndWait { context in
      var round = AdmissionRound(
        known: try KnownJobs(names, context, scheduler: scheduler), scheduler: scheduler, policy: policy,
        handlers: handlers)
      let admitted = zip(candidates, jobs).map { candidate, jobs in
        Result { () throws(AdmissionRefusal) in try round.admit(candidate, jobs, in: context) }
      }
      try context.save()
      return admitted
    }
  }

  /// The record of a job, whether it is on disk yet or not; nil if there is none.
  func known(_ id: String) throws -> KnownJobs.Entry? {
    try ManagedObjectContext(parent: main, name: "admission").performAndWait { context in
      try KnownJobs([id], context, scheduler: fleet == nil ? scheduler : nil)[id]
    }
  }

  /// The jobs of files, under the IDs that the store knows them by.
  ///
  /// A store that was moved from a host of its own to a fleet, or back, has the jobs of files in `cur/` under the other
  /// form of their default IDs; under the usual one they would run once more.
  private func specifications(of candidates: [AdmissionCandidate]) throws -> [[JobSpecification]] {
    var jobs = candidates.map { $0.jobs(spool: fleet == nil ? nil : spool) }
    let named = candidates.indices.filter { place in
      candidates[place].isTakenUp && candidates[place].contents.jobs.contains(where: \.isNamedAfterFile)
    }
    if named.isEmpty { return jobs }
    let others = named.map { (place: $0, jobs: candidates[$0].jobs(spool: fleet == nil ? spool : nil)) }
    let known = try ManagedObjectContext(parent: main, name: "admission").performAndWait { context in
      try KnownJobs(others.flatMap { $0.jobs.compactMap(\.id) }, context, scheduler: nil)
    }
    for (place, other) in others {
      let file = candidates[place].file.name.description
      let isKnown = zip(candidates[place].contents.jobs, other).contains { given, job in
        guard given.isNamedAfterFile, let entry = known[job.id ?? ""] else { return false }
        return entry.file == file && (entry.spool ?? spool) == spool
      }
      if isKnown { jobs[place] = other }
    }
    return jobs
  }
}

/// The admission of several files in one save: later ones know of earlier ones.
struct AdmissionRound {
  var known: KnownJobs
  let scheduler: Scheduler
  let policy: JobPolicy
  let handlers: HandlerTable
  /// Unique keys that jobs of this round own.
  private var uniqueKeys: [String: String] = [:]

  init(
    known: KnownJobs, scheduler: Scheduler, policy: JobPolicy, handlers: HandlerTable
  ) {
    self.known = known
    self.scheduler = scheduler
    self.policy = policy
    self.handlers = handlers
  }

  /// Inserts the jobs of a file, or none of them.
  ///
  /// - Throws: the reason why the file can't be admitted.
  mutating func admit(
    _ candidate: AdmissionCandidate, _ jobs: [JobSpecification], in context: isolated ManagedObjectContext
  ) throws(AdmissionRefusal) -> AdmittedFile {
    let file = candidate.file
    try known.check(jobs, submitter: file.submitter, isTakenUp: candidate.isTakenUp)
    let isOver = candidate.isOver && jobs.contains { known[$0.id ?? ""] != nil }
    var admitted = AdmittedFile(
      file: LiveFile(name: file.name, jobCount: 0), isTakenUp: candidate.isTakenUp, ids: jobs.map { $0.id ?? "" })
    let fileName = file.name.description
    for job in jobs {
      let id = job.id ?? ""
      if let earlier = known[id] {
        admitted.objectIDs.append(earlier.objectID)
        admitted.repeated.insert(earlier.objectID)
        if !earlier.state.isFinal {
          if !isOver { admitted.duplicatesOfLive.append(earlier.objectID) }
        } else if earlier.state == .discarded || earlier.state == .quarantined {
          admitted.earlierFailures.append("\(id): \(earlier.failure ?? "failed")")
        }
        continue
      }
      if isOver { continue }
      insert(job, id, from: file, fileName: fileName, into: &admitted, in: context)
    }
    admitted.unknown = known.unknown(namedBy: jobs, of: admitted)
    return admitted
  }

  private mutating func insert(
    _ specification: JobSpecification, _ id: String, from file: ClaimedFile, fileName: String,
    into admitted: inout AdmittedFile, in context: isolated ManagedObjectContext
  ) {
    let job = Job(context: context)
    job.id = id
    job.type = specification.type
    job.queue = specification.queue
    job.priority = Int32(specification.priority)
    job.maxAttempts = Int32(policy.maxAttempts(of: specification, handlers[specification.type]))
    job.arguments = specification.arguments.serialized()
    job.options = specification.options
    job.batch = specification.batch
    job.dueAt = specification.notBefore
    job.file = fileName
    job.submitter = Int64(file.submitter)
    job.createdAt = Date()
    admitted.objectIDs.append(job.objectID)
    admitted.file.expectJob()
    let origin = KnownJobs.Origin(submitter: job.submitter, type: job.type, arguments: job.arguments)
    let blockers: [NewJob.Blocker]
    do throws(Refusal) {
      try acquire(specification.unique, for: id)
      blockers =
        try self.blockers(of: specification)
        + (specification.afterBatch == nil ? [] : Self.repeatedMembers(admitted))
    } catch {
      job.currentState = .cancelled
      job.failure = error.reason
      job.finishedAt = Date()
      known[id] = KnownJobs.Entry(objectID: job.objectID, state: .cancelled, failure: error.reason, origin: origin)
      admitted.finished.append(
        FinishedJob(
          objectID: job.objectID, id: id, state: .cancelled, failure: error.reason, file: admitted.file))
      return
    }
    if !blockers.isEmpty { job.currentState = .waiting } else if job.dueAt != nil { job.currentState = .scheduled }
    known[id] = KnownJobs.Entry(objectID: job.objectID, state: .available, failure: nil, origin: origin)
    admitted.jobs.append(
      NewJob(
        id: job.objectID, file: admitted.file, specification: specification, name: id, blockers: blockers,
        needs: known.objects(namedBy: specification)))
  }

  /// The reason why a job is cancelled before it begins.
  private struct Refusal: Error { let reason: String }

  private mutating func acquire(_ unique: String?, for id: String) throws(Refusal) {
    guard let unique else { return }
    let isTaken = uniqueKeys[unique] != nil || scheduler.read { schedule, _ in schedule.uniqueOwners[unique] != nil }
    if isTaken { throw Refusal(reason: "another unfinished job has the unique key \"\(unique)\"") }
    uniqueKeys[unique] = id
  }

  /// The members of a file's batch that came in other files before it.
  private static func repeatedMembers(_ admitted: AdmittedFile) -> [NewJob.Blocker] {
    admitted.duplicatesOfLive.map { NewJob.Blocker(subject: .job($0), mayFail: true) }
  }

  private func blockers(of job: JobSpecification) throws(Refusal) -> [NewJob.Blocker] {
    if !job.hasDependencies { return [] }
    var blockers: [NewJob.Blocker] = []
    for (names, mayFail) in [(job.after, false), (job.afterAny, true)] {
      for name in names {
        guard let other = known[name] else {
          blockers.append(NewJob.Blocker(subject: .name(name), mayFail: mayFail))
          continue
        }
        if other.state.isFailure && other.state != .quarantined && !mayFail {
          throw Refusal(reason: "the job \"\(name)\", which must be completed before it, is \(other.state)")
        }
        if !other.state.isFinal || (other.state == .quarantined && !mayFail) {
          blockers.append(NewJob.Blocker(subject: .job(other.objectID), mayFail: mayFail))
        }
      }
    }
    if let batch = job.afterBatch { blockers.append(NewJob.Blocker(subject: .batch(batch), mayFail: true)) }
    if let id = job.id, scheduler.read({ schedule, _ in schedule.closesCircle(id, blockers, batch: job.batch) }) {
      throw Refusal(reason: "it waits for a job that waits for it")
    }
    return blockers
  }
}
