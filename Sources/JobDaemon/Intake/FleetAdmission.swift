import Configuration
import Fleet
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Admits jobs to a fleet: writes them to its ledger, in one transaction; the lead applies unique keys, dependencies and
/// limits.
///
/// Not thread-safe, as ``Admission`` is not.
final class FleetAdmission: Sendable {
  /// Jobs whose keys are reserved, or that are read, at a time.
  private static let keyCount = 10_000
  /// The bytes of copied inputs in one transaction, beyond which jobs of the same file run here.
  private static let copiedSize = 64 << 20
  /// The bytes of them after which other files wait for the next transaction.
  private static let copiedSizePerRound = 16 << 20

  private let main: ManagedObjectContext
  private let handlers: HandlerTable
  private let scheduler: Scheduler
  private let policy: JobPolicy
  private let membership: Membership
  private let payloadDirectory: String
  private let jobKeys: ReservedKeys
  private let attemptKeys: ReservedKeys
  /// The names of jobs whose admission had no answer: it may be written behind that of the same files' next try.
  private let unanswered = Mutex<Set<String>>([])

  init(
    main: ManagedObjectContext, coordinator: PersistentStoreCoordinator, handlers: HandlerTable, scheduler: Scheduler,
    policy: JobPolicy, membership: Membership, payloadDirectory: String
  ) {
    self.main = main
    jobKeys = ReservedKeys(coordinator, entity: Job.entityName, blockSize: Self.keyCount)
    attemptKeys = ReservedKeys(coordinator, entity: Attempt.entityName, blockSize: 100)
    self.handlers = handlers
    self.scheduler = scheduler
    self.policy = policy
    self.membership = membership
    self.payloadDirectory = payloadDirectory
  }

  /// This moment by the clock of the database.
  var now: Date { Date(timeIntervalSince1970: Double(membership.now.wall) / 1000) }

  /// The spool of this host.
  var spool: String { membership.spool }

  /// Waits until standbys of the database have what was admitted; false if the daemon stops before.
  func waitUntilFollowed() async -> Bool { await membership.standbys.waitUntilFollowed() }

  /// Writes the jobs of files to the ledger, and enters them into this host's schedule.
  ///
  /// - Parameter files: the files, each with its jobs.
  /// - Returns: the result for each file, in their order.
  func admit(
    _ files: [(candidate: AdmissionCandidate, jobs: [JobSpecification])]
  ) throws -> [Result<AdmittedFile, AdmissionRefusal>] {
    var results: [Result<AdmittedFile, AdmissionRefusal>] = []
    while results.count < files.count {
      let rest = files[results.count...]
      // Each time, jobs are known that were not before.
      do { results += try admitOnce(rest) } catch is AdmissionRace { continue } catch let error as RefusedByServer {
        // One that can't be stored must not keep the others out.
        if files.count > 1 { return try results + rest.flatMap { try admit([$0]) } }
        results.append(.failure(AdmissionRefusal(reason: error.description)))
      }
    }
    return results
  }

  /// Writes the jobs of some files in one transaction: of all of them, unless they bring large inputs along.
  ///
  /// - Returns: the results for these, one at least.
  private func admitOnce(
    _ files: ArraySlice<(candidate: AdmissionCandidate, jobs: [JobSpecification])>
  ) throws -> [Result<AdmittedFile, AdmissionRefusal>] {
    var names: [String] = []
    for file in files { file.jobs.addNames(to: &names) }
    var known = try read(names)
    var round = Round()
    var admitted: [Result<AdmittedFile, AdmissionRefusal>] = []
    for (candidate, jobs) in files where round.copiedSize < Self.copiedSizePerRound {
      do throws(AdmissionRefusal) { try known.check(jobs, of: candidate) } catch {
        admitted.append(.failure(error))
        continue
      }
      let isFiring = Submitter.firing(candidate.file.name) != nil
      for (given, job) in zip(candidate.contents.jobs, jobs) where isFiring || !given.isNamedAfterFile {
        round.sharedNames.insert(job.id ?? "")
      }
      admitted.append(.success(try admit(candidate, jobs, known: &known, round: &round)))
    }
    let accepted = admitted.compactMap { if case .success(let file) = $0 { file } else { nil } }
    // Before they are in the ledger: the lead may assign them to this host before the answer is here. One that is in the
    // ledger already may have been assigned meanwhile: then its file waits for that attempt.
    if !scheduler.addUnlessKnown(round.placeholders) {
      forgetJobs(of: accepted, round)
      throw AdmissionRace()
    }
    do {
      try write(round, placing: try orders(for: accepted))
    } catch {
      forgetJobs(of: accepted, round)
      scheduler.change { schedule, now in for job in round.placeholders { schedule.drop(job.id, at: now) } }
      throw error
    }
    membership.watch(round.watched)
    return admitted
  }

  private func forgetJobs(of files: [AdmittedFile], _ round: Round) {
    for job in round.placeholders { job.file?.forgetJobs(1) }
    for file in files { file.file.forgetJobs(file.replacements.count) }
  }

  /// The orders to replace known jobs by those of files, which in `cur/` are the record of that until it is done.
  private func orders(for files: [AdmittedFile]) throws -> [NumberedOrder] {
    let orders = try files.compactMap { file -> NewOrder? in
      guard let replacing = file.replacing else { return nil }
      let replacements = try FileReplacement.ordered(file.replacements).map { one in
        JobReplacement(
          job: one.job, specification: withAttempts(one.specification), place: localFiles.place(of: one.specification),
          attemptKey: try attemptKeys.next().key)
      }
      return (.replace(replacements), { replacing.answer.set($0) })
    }
    if orders.isEmpty { return [] }
    do { return try membership.number(orders) } catch is NoAnswer {
      throw StoreError(.unavailable, "the database of the fleet does not answer")
    }
  }

  private func withAttempts(_ job: JobSpecification) -> JobSpecification {
    var specification = job
    specification.ownMaxAttempts = job.maxAttempts
    specification.maxAttempts = policy.maxAttempts(of: job, handlers[job.type])
    return specification
  }

  /// The new jobs of some files.
  private struct Round {
    var jobs: [FleetJob] = []
    /// The names among theirs that files have given, or that tell of a firing: other spools may have the same.
    var sharedNames: Set<String> = []
    var placeholders: [NewJob] = []
    /// The bytes of their copied inputs.
    var copiedSize = 0
    /// Other spools' jobs for which one of the files waits.
    var watched: Set<ManagedObjectID> = []
  }

  /// Asks the ledger, whose plan searches for names by their index however the tables grow while they are not analyzed.
  private func read(_ names: [String]) throws -> KnownJobs { KnownJobs(try membership.reader().known(names)) }

  private func admit(
    _ candidate: AdmissionCandidate, _ jobs: [JobSpecification], known: inout KnownJobs, round: inout Round
  ) throws -> AdmittedFile {
    let name = candidate.file.name
    let isOver = candidate.isOver && jobs.contains { known[$0.id ?? ""] != nil }
    // All jobs of a file are admitted together: those that are not known beside an unfinished one are over, and removed.
    let areOthersOver =
      isOver
      || candidate.part.map(\.wasAdmitted)
        ?? (candidate.isTakenUp
          && zip(candidate.contents.jobs, jobs).contains { given, job in
            // No other file has the ID that is made of this one.
            isUnfinished(job, of: name, known) || given.isNamedAfterFile && known[job.id ?? ""] != nil
          })
    var admitted = AdmittedFile(
      file: candidate.live ?? LiveFile(name: name, jobCount: 0, isOfEarlierRun: candidate.isTakenUp),
      isTakenUp: candidate.isTakenUp, isPart: candidate.part != nil, ids: jobs.map { $0.id ?? "" })
    admitted.isScheduled = true
    if !isOver { noteReplaced(jobs, of: &admitted, in: &known) }
    let replaced = admitted.replaced
    for job in jobs {
      let id = job.id ?? ""
      guard let earlier = known[id] else {
        if !areOthersOver { try insert(job, id, of: candidate.file, into: &admitted, known: &known, round: &round) }
        continue
      }
      admitted.objectIDs.append(earlier.objectID)
      if replaced.contains(earlier.objectID) { continue }
      // Or else an earlier run of this host, or an admission whose answer was lost, has written it for this very file.
      let isRepeated = earlier.file != name.description || earlier.spool != membership.spool
      if isRepeated { admitted.repeated.insert(earlier.objectID) }
      if earlier.state.isFinal {
        if earlier.state.isFailure && earlier.state != .cancelled {
          admitted.earlierFailures.append("\(id): \(earlier.failure ?? "failed")")
        }
      } else if isOver {
        continue
      } else if !isRepeated {
        let isHere = scheduler.read { schedule, _ in schedule.contains(earlier.objectID) }
        if isHere {
          admitted.duplicatesOfLive.append(earlier.objectID)
        } else {
          expect(earlier.objectID, job, in: &admitted, round: &round)
        }
      } else {
        admitted.duplicatesOfLive.append(earlier.objectID)
        // One that a file has replaced keeps the file that it came in.
        if earlier.spool != membership.spool || job.replaces { watch(earlier.objectID, job, round: &round) }
      }
    }
    admitted.unknown = known.unknown(namedBy: jobs, of: admitted)
    return admitted
  }

  /// Has known jobs replaced, which count as unfinished from now on.
  private func noteReplaced(_ jobs: [JobSpecification], of admitted: inout AdmittedFile, in known: inout KnownJobs) {
    for job in jobs {
      guard let id = job.id, let entry = known[id], entry.isToBeReplaced(by: job) else { continue }
      admitted.file.expectJob()
      admitted.add(
        Replacement(
          job: entry.objectID, specification: job, file: admitted.file, fileName: admitted.file.name.description))
      known[id] = entry.replaced(by: job)
    }
  }

  /// True if a job is known as an unfinished one of a file of this spool.
  private func isUnfinished(_ job: JobSpecification, of file: FileName, _ known: KnownJobs) -> Bool {
    known[job.id ?? ""].map { !$0.state.isFinal && $0.file == file.description && $0.spool == spool } ?? false
  }

  private func insert(
    _ job: JobSpecification, _ id: String, of file: ClaimedFile, into admitted: inout AdmittedFile,
    known: inout KnownJobs, round: inout Round
  ) throws {
    let objectID = try jobKeys.next()
    let specification = withAttempts(job)
    let inputs = localFiles.copies(
      for: job, submitter: file.submitter, limit: Self.copiedSize - round.copiedSize)
    var new = FleetJob(
      id: objectID, name: id, specification: specification,
      place: localFiles.place(of: job, isCopied: inputs != nil), created: membership.now.wall)
    new.inputs = inputs ?? []
    round.copiedSize += new.inputs.reduce(0) { $0 + $1.content.count }
    new.file = file.name.description
    new.submitter = Int64(file.submitter)
    new.spool = membership.spool
    round.jobs.append(new)
    admitted.objectIDs.append(objectID)
    known[id] = KnownJobs.Entry(
      objectID: objectID, state: .available, failure: nil,
      origin: KnownJobs.Origin(
        submitter: new.submitter, type: job.type, arguments: job.arguments.serialized()),
      file: new.file, spool: membership.spool, options: specification.optionsOfFile)
    expect(objectID, job, in: &admitted, round: &round)
  }

  /// Expects the end of a job of this spool.
  private func expect(
    _ id: ManagedObjectID, _ job: JobSpecification, in admitted: inout AdmittedFile, round: inout Round
  ) {
    admitted.file.expectJob()
    var new = NewJob(elsewhere: id, file: admitted.file, type: job.type, queue: job.queue, name: job.id ?? "")
    new.specification.batch = job.batch
    // The lead waits for it; what this host knows of the job is what it shows.
    new.specification.notBefore = job.notBefore
    admitted.jobs.append(new)
    round.placeholders.append(new)
  }

  /// Expects the end of a job of another spool, of which nobody tells this one.
  private func watch(_ id: ManagedObjectID, _ job: JobSpecification, round: inout Round) {
    // Two files of a round may repeat one job.
    guard round.watched.insert(id).inserted else { return }
    if scheduler.read({ schedule, _ in schedule.contains(id) }) { return }
    round.placeholders.append(NewJob(elsewhere: id, file: nil, type: job.type, queue: job.queue, name: job.id ?? ""))
  }

  /// Gives the jobs of a store that was copied, which were bound to this spool, the places that they ask for themselves. What
  /// is cut short is done whole at the next start.
  func placeAdoptedJobs() throws {
    let ids = try ManagedObjectContext(parent: main, name: "admission").performAndWait { context in
      try context.fetchIDs(FetchRequest<Job>(states: JobState.unfinished))
    }
    for start in stride(from: 0, to: max(ids.count, 1), by: Self.keyCount) {
      let chunk = ids[start..<min(start + Self.keyCount, ids.count)]
      let places = try ManagedObjectContext(parent: main, name: "admission").performAndWait { [self] context in
        try context.fetch(FetchRequest<Job>(objectIDs: chunk)).compactMap { job -> (ManagedObjectID, String?)? in
          // One whose record can't be read stays here, and fails here.
          guard job.spool == membership.spool, let specification = try? JobSpecification(record: job) else {
            return nil
          }
          return (job.objectID, localFiles.place(of: specification))
        }
      }
      try membership.setPlaces(places, isLast: chunk.endIndex == ids.endIndex)
    }
  }

  private var localFiles: LocalFiles {
    LocalFiles(
      configuration: policy.configuration.value.fleet, handlers: handlers, payloadDirectory: payloadDirectory,
      spool: membership.spool)
  }

  /// Writes new jobs to the ledger.
  ///
  /// - Throws: ``AdmissionRace`` if another job has one of their names by then.
  private func write(_ round: Round, placing orders: [NumberedOrder]) throws {
    if round.jobs.isEmpty {
      for order in orders { membership.place(order) }
      return
    }
    let names = round.jobs.map(\.name)
    // In one transaction, the orders first: the new jobs of a file may wait for those that it replaces.
    do { try membership.admit(round.jobs, placing: orders) } catch let error as UnansweredAdmission {
      unanswered.withLock { $0.formUnion(names) }
      throw error
    }
    let doubtful = unanswered.withLock { unanswered in
      defer { unanswered.subtract(names) }
      return unanswered
    }
    let asked = names.filter { round.sharedNames.contains($0) || doubtful.contains($0) }
    if asked.isEmpty { return }
    let written = try read(asked)
    let isOthers = { (job: FleetJob) in written[job.name].map { $0.objectID != job.id } ?? false }
    if round.jobs.contains(where: isOthers) { throw AdmissionRace() }
  }
}

/// Jobs of the same ID were admitted in the same moment, by another host, or by an earlier request of this one: the files are
/// to be admitted once more, when these jobs are known.
struct AdmissionRace: Error {}

extension NewJob {
  /// A job that only an assignment starts.
  init(elsewhere id: ManagedObjectID, file: LiveFile?, type: String, queue: String, name: String) {
    self.init(
      id: id, file: file, specification: JobSpecification(type: type, id: name, queue: queue), name: name,
      place: Scheduler.elsewhere)
  }
}
