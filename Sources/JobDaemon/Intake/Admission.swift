import Configuration
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
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
  /// The file with one job on each line that is being admitted, and its IDs: no other file may take them meanwhile.
  private let reserved = Mutex<ReservedIDs?>(nil)

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
    try handlers.parse(file.data, at: now, policy.configuration.value.jobs.unknownTypes)
  }

  /// Waits until standbys of a fleet's database have what was admitted; false if the daemon stops before.
  func waitUntilFollowed() async -> Bool { await fleet?.waitUntilFollowed() ?? true }

  /// Inserts the jobs of files together, in one save; the caller schedules them, and replaces those that files replace.
  ///
  /// Otherwise a job whose ID is known is not run again, whether it is final or not.
  ///
  /// - Returns: the result for each file, in their order.
  func admit(_ candidates: [AdmissionCandidate]) throws -> [Result<AdmittedFile, AdmissionRefusal>] {
    let jobs = candidates.map { CandidateJobs($0, spool: spool, isOfFleet: fleet != nil) }
    if let fleet { return try fleet.admit(Array(zip(candidates, try chosen(jobs, of: candidates)))) }
    let context = ManagedObjectContext(parent: main, name: "admission")
    return try context.performAndWait { context in
      var round = AdmissionRound(
        known: try KnownJobs(of: jobs, context, scheduler: scheduler), scheduler: scheduler,
        policy: policy, handlers: handlers, reserved: reserved.withLock { $0 })
      let admitted = zip(candidates, jobs).map { candidate, jobs in
        Result { () throws(AdmissionRefusal) in
          // Chosen only now, as earlier files of the round may have taken IDs.
          try round.admit(candidate, jobs.chosen(knowing: round.known), in: context)
        }
      }
      do { try context.save() } catch {
        for case .success(let file) in admitted { file.file.forgetJobs(file.jobs.count + file.finished.count) }
        throw error
      }
      return admitted
    }
  }

  /// Keeps the IDs of a file that is being admitted from others; nil to end that.
  func reserve(_ ids: ReservedIDs?) { reserved.withLock { $0 = ids } }

  /// Checks a job before it is to be admitted: its type and its arguments.
  func check(_ job: JobSpecification) throws(JobFileError) {
    try handlers.check(job, policy.configuration.value.jobs.unknownTypes)
  }

  /// Looks up which jobs of a part of a file are known; nothing is admitted.
  ///
  /// - Returns: for each job what is known of it, or why it can't be admitted.
  func look(at candidate: AdmissionCandidate) throws -> [Result<KnownJobs.Entry?, AdmissionRefusal>] {
    let jobs = CandidateJobs(candidate, spool: spool, isOfFleet: fleet != nil)
    let known = try ManagedObjectContext(parent: main, name: "admission").performAndWait { context in
      try KnownJobs(of: [jobs], context, scheduler: fleet == nil ? scheduler : nil)
    }
    return jobs.chosen(knowing: known).map { job in
      Result { () throws(AdmissionRefusal) in
        try known.check([job], of: candidate)
        return known[job.id ?? ""]
      }
    }
  }

  /// True if a known job came in a file of this host.
  func cameInFile(_ entry: KnownJobs.Entry, _ name: FileName) -> Bool {
    entry.file == name.description && (entry.spool ?? spool) == spool
  }

  /// This moment, by the clock from which delays count.
  var now: Date { fleet?.now ?? Date() }

  /// The record of a job, whether it is on disk yet or not; nil if there is none.
  func known(_ id: String) throws -> KnownJobs.Entry? {
    try ManagedObjectContext(parent: main, name: "admission").performAndWait { context in
      try KnownJobs([id], context, scheduler: fleet == nil ? scheduler : nil)[id]
    }
  }

  /// The jobs of files for a fleet. Only those that lay in `cur/` may be known under another form of their IDs.
  private func chosen(_ jobs: [CandidateJobs], of candidates: [AdmissionCandidate]) throws -> [[JobSpecification]] {
    let taken = zip(candidates, jobs).filter { $0.0.isTakenUp }
    let known = try ManagedObjectContext(parent: main, name: "admission").performAndWait { context in
      try KnownJobs(of: taken.map(\.1), context, scheduler: nil)
    }
    return jobs.map { $0.chosen(knowing: known) }
  }
}

/// The IDs in a file that is being admitted, part by part.
struct ReservedIDs: Sendable {
  let file: FileName
  let ids: LineIDs

  /// Checks that no unknown job of another file has one of them.
  fileprivate func check(_ jobs: [JobSpecification], _ known: KnownJobs) throws(AdmissionRefusal) {
    for job in jobs {
      guard let id = job.id, ids.contains(id), known[id] == nil else { continue }
      throw AdmissionRefusal(
        reason:
          "the ID \"\(displayName(id))\" is in the job file \(file), which is being admitted; try again in a moment")
    }
  }
}

/// The admission of several files in one save: later ones know of earlier ones.
struct AdmissionRound {
  var known: KnownJobs
  let scheduler: Scheduler
  let policy: JobPolicy
  let handlers: HandlerTable
  let reserved: ReservedIDs?
  /// Unique keys that jobs of this round own.
  private var uniqueKeys: [String: String] = [:]

  init(
    known: KnownJobs, scheduler: Scheduler, policy: JobPolicy, handlers: HandlerTable, reserved: ReservedIDs? = nil
  ) {
    self.known = known
    self.scheduler = scheduler
    self.policy = policy
    self.handlers = handlers
    self.reserved = reserved
  }

  /// Inserts the jobs of a file, or none of them.
  ///
  /// - Throws: the reason why the file can't be admitted.
  mutating func admit(
    _ candidate: AdmissionCandidate, _ jobs: [JobSpecification], in context: isolated ManagedObjectContext
  ) throws(AdmissionRefusal) -> AdmittedFile {
    let file = candidate.file
    try known.check(jobs, of: candidate)
    if candidate.part == nil { try reserved?.check(jobs, known) }
    let isOver = candidate.isOver && jobs.contains { known[$0.id ?? ""] != nil }
    var admitted = AdmittedFile(
      file: candidate.live ?? LiveFile(name: file.name, jobCount: 0), isTakenUp: candidate.isTakenUp,
      isPart: candidate.part != nil, isLive: candidate.live != nil, ids: jobs.map { $0.id ?? "" })
    let fileName = file.name.description
    let wasAdmitted = wasAdmitted(candidate, jobs)
    let replacing = isOver ? [] : jobs.filter { job in known[job.id ?? ""]?.isToBeReplaced(by: job) == true }
    // First, as others of the file may wait for them.
    for job in replacing { noteReplaced(job, of: &admitted, fileName: fileName) }
    let replaced = admitted.replaced
    for job in jobs {
      let id = job.id ?? ""
      if let earlier = known[id] {
        admitted.objectIDs.append(earlier.objectID)
        if replaced.contains(earlier.objectID) { continue }
        admitted.repeated.insert(earlier.objectID)
        if !earlier.state.isFinal {
          if !isOver { admitted.duplicatesOfLive.append(earlier.objectID) }
        } else if earlier.state == .discarded || earlier.state == .quarantined {
          admitted.earlierFailures.append("\(id): \(earlier.failure ?? "failed")")
        }
        continue
      }
      if isOver || wasAdmitted { continue }
      insert(job, id, from: file, fileName: fileName, into: &admitted, in: context)
    }
    admitted.unknown = known.unknown(namedBy: jobs, of: admitted)
    return admitted
  }

  /// True if the jobs of a file were all admitted before, so that those which are not known were removed since.
  ///
  /// They are admitted together; an ID that is made of the file itself is no other's, and a file that replaces jobs is
  /// remembered by the records of all.
  private func wasAdmitted(_ candidate: AdmissionCandidate, _ jobs: [JobSpecification]) -> Bool {
    if let part = candidate.part, part.wasAdmitted { return true }
    return candidate.isTakenUp
      && zip(candidate.contents.jobs, jobs).contains { given, job in
        guard let entry = known[job.id ?? ""] else { return false }
        return given.isNamedAfterFile || job.replacements.contains { entry.keys.replacements.contains($0) }
      }
  }

  /// Has a known job replaced, which counts as unfinished from now on.
  private mutating func noteReplaced(_ job: JobSpecification, of admitted: inout AdmittedFile, fileName: String) {
    guard let id = job.id, let entry = known[id] else { return }
    admitted.file.expectJob()
    admitted.add(
      Replacement(job: entry.objectID, specification: job, file: admitted.file, fileName: fileName))
    known[id] = entry.replaced(by: job)
    known[id]?.file = fileName
  }

  private mutating func insert(
    _ specification: JobSpecification, _ id: String, from file: ClaimedFile, fileName: String,
    into admitted: inout AdmittedFile, in context: isolated ManagedObjectContext
  ) {
    let job = Job(context: context)
    job.id = id
    job.setSpecification(
      specification, maxAttempts: policy.maxAttempts(of: specification, handlers[specification.type]))
    job.file = fileName
    job.submitter = Int64(file.submitter)
    job.createdAt = Date()
    admitted.objectIDs.append(job.objectID)
    admitted.file.expectJob()
    let origin = KnownJobs.Origin(submitter: job.submitter, type: job.type, arguments: job.arguments)
    let blockers: [NewJob.Blocker]
    do throws(EarlyEnd) {
      try acquire(specification.unique, for: id)
      blockers =
        try self.blockers(of: specification)
        + (specification.afterBatch == nil ? [] : Self.repeatedMembers(admitted))
    } catch {
      job.currentState = .cancelled
      job.failure = error.reason
      job.finishedAt = Date()
      known[id] = KnownJobs.Entry(
        objectID: job.objectID, state: .cancelled, failure: error.reason, origin: origin, options: job.options)
      admitted.finished.append(
        FinishedJob(
          objectID: job.objectID, id: id, type: job.type, state: .cancelled, failure: error.reason,
          batch: job.batch, file: admitted.file))
      return
    }
    if !blockers.isEmpty { job.currentState = .waiting } else if job.dueAt != nil { job.currentState = .scheduled }
    known[id] = KnownJobs.Entry(
      objectID: job.objectID, state: .available, failure: nil, origin: origin, options: job.options)
    var new = NewJob(
      id: job.objectID, file: admitted.file, specification: specification, name: id, blockers: blockers,
      needs: known.objects(namedBy: specification))
    if admitted.isPart { new.wholeFile = fileName }
    admitted.jobs.append(new)
  }

  private mutating func acquire(_ unique: String?, for id: String) throws(EarlyEnd) {
    guard let unique else { return }
    let isTaken = uniqueKeys[unique] != nil || scheduler.read { schedule, _ in schedule.uniqueOwners[unique] != nil }
    if isTaken { throw .taken(unique: unique) }
    uniqueKeys[unique] = id
  }

  private func blockers(of job: JobSpecification) throws(EarlyEnd) -> [NewJob.Blocker] {
    // Most wait for nothing, and need no look at the schedule.
    if !job.hasDependencies { return [] }
    return try scheduler.read { [known] schedule, _ in
      Result { () throws(EarlyEnd) in try known.blockers(of: job, in: schedule) }
    }.get()
  }

  /// The members of a file's batch that came in other files before it.
  private static func repeatedMembers(_ admitted: AdmittedFile) -> [NewJob.Blocker] {
    admitted.duplicatesOfLive.map { NewJob.Blocker(subject: .job($0), mayFail: true) }
  }
}
