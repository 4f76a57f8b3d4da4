import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph

/// Replacements of known jobs by what a file says of them: the file in `cur/` is the record of those not made yet.
///
/// A file's replacements are made together, once nothing is left of what they replace: attempts have ended, checkpoints
/// are reverted, and the ends of final jobs are durable.
extension JobControl {
  /// Makes the replacements of a file as soon as can be, and puts its other jobs, which may wait for these, into the schedule.
  func replace(_ file: AdmittedFile) {
    if let membership = engine.membership { return awaitReplacements(by: file, on: membership) }
    let replacement = FileReplacement(file)
    replacements.add(replacement)
    queue.async { [self] in goOn(with: replacements.next(among: replacement.replacements.lazy.map(\.job))) }
  }

  /// Goes on with the replacements of jobs of which an attempt has ended, or whose end is on disk.
  func noteEnds(of ids: some Sequence<ManagedObjectID>) {
    let jobs = ids.filter { replacements.contains($0) }
    if jobs.isEmpty { return }
    // Whose turn it is counts when the queue gets there: the replacements of a file may just be being made, and the first
    // of its jobs may have ended already.
    queue.async { [self] in goOn(with: replacements.next(among: jobs)) }
  }

  /// - Parameter files: those whose turn it is, as the queue sees it.
  private func goOn(with files: [FileReplacement]) {
    var rest = files
    // The next start finds the files that are left.
    while !isEnding, let file = rest.popLast() {
      do {
        guard try isReady(file) else { continue }
        try make(file)
      } catch is ObjectNotFound {
        // A job was removed meanwhile, so that the file has a new one.
        engine.events.send(.doubtful(file.file.file.name))
      } catch {
        engine.report(error, "the jobs of the file \(file.file.file.name) can't be replaced before the next start")
      }
      replacements.remove(file)
      if file.file.isLive { engine.scheduler.start(whole: file.file.file.name) }
      file.file.replacing?.end.set(())
      rest += replacements.next(among: file.replacements.lazy.map(\.job))
    }
  }

  /// True if nothing is left of what a file replaces; if not, ``noteEnds(of:)`` is called with an end.
  private func isReady(_ file: FileReplacement) throws -> Bool {
    let unready = try file.unready.filter { try !prepare($0.job, for: file) }
    file.note(unready: unready)
    if !unready.isEmpty { return false }
    // Those that were ready before may have been cancelled meanwhile.
    let changed = try file.replacements.filter { try !prepare($0.job, for: file) }
    file.note(unready: changed)
    return changed.isEmpty
  }

  /// Has nothing be left of what is to be replaced; false if something has to end first.
  private func prepare(_ id: ManagedObjectID, for file: FileReplacement) throws -> Bool {
    if reverting.contains(id) { return false }
    let (state, awaitsHandler) = engine.scheduler.read { schedule, _ in
      (schedule.state(of: id), schedule.awaitingHandler.contains(id))
    }
    if state?.isFinal == true {
      engine.flusher.flushSoon()
      return false
    }
    if let state, state != .held, !engine.scheduler.change({ schedule, _ in schedule.hold(id) }) {
      // It does not if an operator has it held, or if its end is just being recorded.
      if engine.stop(id, .replaced) { file.note(id, staysHeld: false) }
      return false
    }
    let isHeld = state == .held && !awaitsHandler
    let staysHeld = file.staysHeld(id)
    let (isPartial, isOperators) = try context().performAndWait { context in
      let job = try context.job(with: id)
      let isOperators = staysHeld ?? (isHeld && job.stopReason != JobReplacement.reason)
      guard Reversion.isNeeded(job) else { return (false, isOperators) }
      // On record first: it may outlast the daemon, and nothing may run meanwhile.
      if job.currentState.isFinal {
        job.setPendingStop(.cancelled, JobReplacement.reason)
      } else if !isOperators {
        job.currentState = .held
        job.setPendingStop(.held, JobReplacement.reason)
      }
      try context.save()
      return (true, isOperators)
    }
    if state != nil { file.note(id, staysHeld: isOperators) }
    if isPartial { revert(id) { [self] in try change(id) { $0.cursor = nil } } }
    return !isPartial
  }

  private func make(_ file: FileReplacement) throws {
    let (members, callbacks) = (
      file.replacements.filter { $0.specification.afterBatch == nil },
      file.replacements.filter { $0.specification.afterBatch != nil }
    )
    for member in members { try put(member, isHeld: file.staysHeld(member.job) ?? false) }
    if file.file.isLive { try blockRecovered(file.file) }
    schedule(file.file.jobs)
    // Last, when all unfinished jobs of their batch are there.
    for callback in callbacks { try put(callback, isHeld: file.staysHeld(callback.job) ?? false) }
  }

  /// Has jobs of the file that an earlier run of the daemon admitted wait for its replacements, which were final then.
  private func blockRecovered(_ file: AdmittedFile) throws {
    let (waiting, ended) = try context().performAndWait { [engine] context in
      var (waiting, ended): ([NewJob], [(ManagedObjectID, String)]) = ([], [])
      for job in try context.fetch(FetchRequest<Job>(objectIDs: file.duplicatesOfLive[...])) {
        guard job.file == file.file.name.description, job.attempt == 0, !job.currentState.isFinal else { continue }
        let specification = try JobSpecification(record: job, withArguments: false)
        if !specification.hasDependencies { continue }
        let (id, names) = (job.objectID, specification.after + specification.afterAny)
        let known = try KnownJobs(names, context, scheduler: engine.scheduler)
        do throws(EarlyEnd) {
          let blockers = try engine.scheduler.read { schedule, _ in
            Result { () throws(EarlyEnd) in try known.blockers(of: specification, replacing: id, in: schedule) }
          }.get()
          waiting.append(
            NewJob(
              id: id, file: file.file, specification: specification, name: job.id, isHeld: job.currentState == .held,
              blockers: blockers, needs: known.objects(namedBy: specification)))
        } catch {
          ended.append((id, error.reason))
        }
      }
      return (waiting, ended)
    }
    for job in waiting { _ = engine.scheduler.replace(with: job) }
    try cancelAll(ended)
  }

  /// Puts the new specification on record, and then into the schedule.
  private func put(_ replacement: Replacement, isHeld: Bool) throws {
    let (new, end) = try record(replacement, isHeld: isHeld)
    engine.merger.merge()
    let old = engine.scheduler.replace(with: new)
    if let file = old?.file {
      // For that file the job is over; it goes with the last of its others.
      engine.events.send(
        .superseded(
          FinishedJob(
            objectID: new.id, id: new.name, type: replacement.specification.type, state: .cancelled, failure: nil,
            file: file)))
    }
    if let end {
      try cancelAll([(new.id, end.reason)])
    } else {
      try resolveLateNames(of: new)
      resolveBlockers(of: [new])
      if isHeld { engine.waiters.tellHeld(new.id) }
    }
  }

  /// - Returns: the job for the schedule, and the reason why it can never begin, if there is one.
  private func record(_ replacement: Replacement, isHeld: Bool) throws -> (NewJob, EarlyEnd?) {
    try context().performAndWait { [engine] context in
      let job = try context.job(with: replacement.job)
      var specification = replacement.specification
      // An unreadable record, which somebody has edited, is replaced as well.
      let earlier = try? JobSpecification(record: job, withArguments: false)
      let files = (earlier?.replacements ?? []) + specification.replacements
      specification.replacements = Array(files.suffix(JobReplacement.memory))
      specification.madeOf = earlier?.madeOf
      // Who sends it again need not know in which trace it was.
      specification.trace = specification.trace ?? earlier?.trace
      if job.currentState.isFinal { try Self.keepRun(of: job, in: context) }
      let known = try KnownJobs(specification.after + specification.afterAny, context, scheduler: engine.scheduler)
      let id = job.objectID
      var blockers: [NewJob.Blocker] = []
      var end: EarlyEnd?
      do throws(EarlyEnd) {
        blockers = try engine.scheduler.read { [specification] schedule, _ in
          Result { () throws(EarlyEnd) -> [NewJob.Blocker] in
            if let key = specification.unique, schedule.uniqueOwners[key] ?? id != id { throw .taken(unique: key) }
            return try known.blockers(of: specification, replacing: id, in: schedule)
          }
        }.get()
      } catch {
        end = error
      }
      let attempts = engine.policy.maxAttempts(of: specification, engine.handlers[specification.type])
      job.setSpecification(specification, maxAttempts: Int(job.attempt) + attempts)
      job.currentState =
        isHeld ? .held : !blockers.isEmpty ? .waiting : job.dueAt == nil ? .available : .scheduled
      job.file = replacement.fileName
      job.createdAt = engine.date
      (job.startedAt, job.finishedAt, job.failure, job.result, job.cursor) = (nil, nil, nil, nil, nil)
      job.crashes = 0
      job.setPendingStop(nil)
      try context.save()
      // One that never begins takes no key from others.
      if end != nil { specification.unique = nil }
      let new = NewJob(
        id: id, file: replacement.file, specification: specification, name: job.id, isHeld: isHeld || end != nil,
        blockers: blockers, needs: known.objects(namedBy: specification))
      return (new, end)
    }
  }

  /// Keeps the end of a job's run, which begins anew, with its last attempt; one that has had none leaves nothing.
  private static func keepRun(of job: Job, in context: isolated ManagedObjectContext) throws {
    let number = job.attempt
    if number == 0 { return }
    let isLast = try Condition(#Predicate<Attempt> { $0.number == number })
    let isJobs = try Condition(\Attempt.job, leadsTo: job.objectID)
    let known = try context.fetch(FetchRequest<Attempt>(.and([isJobs, isLast]), limit: 1)).first
    // It is the last one of the run before.
    if known?.arguments != nil { return }
    let attempt = known ?? Attempt(context: context)
    if known == nil {
      attempt.job = job
      attempt.number = number
      attempt.startedAt = job.startedAt
    }
    attempt.finishedAt = job.finishedAt
    attempt.outcome = job.state
    attempt.failure = job.failure
    attempt.result = job.result
    attempt.arguments = job.arguments
  }

  /// Resolves names that were unknown when the new specification was read: a file may have been admitted since.
  private func resolveLateNames(of new: NewJob) throws {
    let names = new.blockers.compactMap { if case .name(let name) = $0.subject { name } else { nil } }
    if names.isEmpty { return }
    let known = try context().performAndWait { [engine] in try KnownJobs(names, $0, scheduler: engine.scheduler) }
    let found = names.compactMap { name in known[name].map { (name, $0) } }
    for (name, entry) in found {
      engine.scheduler.change { schedule, _ in schedule.resolve(name: name, as: entry.objectID) }
    }
    resolveBlockers(of: found.map { $0.1.objectID })
  }
}
