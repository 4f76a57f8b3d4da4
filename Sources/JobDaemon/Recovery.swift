import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport

/// Recovers what an earlier run left unfinished: first the jobs in the store, then files that are not in it.
struct Recovery {
  /// Records that are read at a time, so that the first jobs run while the last are still being read.
  private static let chunkSize = 2_000
  /// Beyond so many attempts an interrupted one counts as a failed one.
  private static let interruptionLimit = 100

  let engine: JobEngine
  let control: JobControl
  /// The names in `cur/`.
  private let present: Set<FileName>
  /// The file of which some jobs were admitted: they start when all are.
  private let halfAdmitted: FileName?
  /// Files of unfinished jobs, by name.
  private(set) var files: [FileName: LiveFile] = [:]
  /// Those among them that may have replacements which are not made yet; their jobs start when all are.
  private(set) var replacing: Set<FileName> = []

  init(_ engine: JobEngine, _ control: JobControl, present: Set<FileName>, halfAdmitted: FileName? = nil) {
    self.engine = engine
    self.present = present
    self.halfAdmitted = halfAdmitted
    self.control = control
  }

  /// Removes what attempts left behind when an earlier run of the daemon was killed, before their jobs are run again.
  ///
  /// The programs themselves died with that daemon, but not what they had started; and half-written files would stay for
  /// ever if the job were cancelled now.
  ///
  /// - Parameter killProcesses: kills the processes of such attempts, and returns how many there were.
  static func removeLeftovers(_ engine: JobEngine, killProcesses: () throws -> Int) throws {
    let cutShort = try ManagedObjectContext(parent: engine.main, name: "leftovers").performAndWait { context in
      let jobs = try context.fetch(FetchRequest<Job>(state: .running))
      for job in jobs {
        guard let handler = engine.handlers[job.type] as? any OwnHandler else { continue }
        do {
          var specification = try JobSpecification(record: job)
          try specification.resolveReferences(in: context)
          try handler.removeLeftovers(
            of: specification.arguments, submitter: UInt32(exactly: job.submitter) ?? .max,
            payloadDirectory: engine.payloadDirectory)
        } catch {
          engine.log.notice(
            "what an attempt at the job \(displayName(job.id)) may have left can't be removed: \(error)")
        }
      }
      return jobs.count
    }
    // Without an attempt that was cut short no process was at work.
    if cutShort == 0 { return }
    let count = try killProcesses()
    if count > 0 {
      engine.log.warning("killed \(count) processes that jobs of an earlier run had left behind", as: .leftoversKilled)
    }
  }

  /// Schedules the unfinished jobs of the store, in the order in which they were admitted.
  ///
  /// - Returns: the number of jobs.
  mutating func recoverJobs() throws -> Int {
    try recoverPauses()
    try recoverStarts()
    let ids = try ManagedObjectContext(parent: engine.main, name: "recovery").performAndWait { context in
      try context.fetchIDs(FetchRequest<Job>(states: JobState.unfinished))
    }.sorted { $0.key < $1.key }
    var callbacks: [NewJob] = []
    var cancelled: [(ManagedObjectID, String)] = []
    for start in stride(from: 0, to: ids.count, by: Self.chunkSize) {
      let jobs = try recover(ids[start..<min(start + Self.chunkSize, ids.count)], &cancelled)
      let isCallback = { (job: NewJob) in job.specification.afterBatch != nil }
      callbacks += jobs.filter(isCallback)
      let others = jobs.filter { !isCallback($0) }
      engine.scheduler.add(others)
      control.resolveBlockers(of: others)
      engine.merger.merge()
    }
    // Last, when all unfinished jobs of their batches are there.
    engine.scheduler.add(callbacks)
    control.resolveBlockers(of: callbacks)
    control.cancel(cancelled)
    try recoverQuarantined()
    return ids.count
  }

  /// Recovers quarantined jobs that were cancelled, and were being reverted when the daemon ended.
  private func recoverQuarantined() throws {
    let jobs = try ManagedObjectContext(parent: engine.main, name: "recovery").performAndWait { context in
      let request = try FetchRequest<Job>(
        format: "state == %@ AND stopEvent == %@", JobState.quarantined.rawValue, JobEvent.cancelled.rawValue)
      return try context.fetch(request).map { ($0.objectID, $0.stopReason ?? "cancelled") }
    }
    control.finishQuarantined(jobs)
  }

  private mutating func recoverPauses() throws {
    let paused = try ManagedObjectContext(parent: engine.main, name: "recovery").performAndWait { context in
      try context.fetch(FetchRequest<Pause>()).compactMap { $0.resource }
    }
    engine.scheduler.change { schedule, now in
      for name in paused { schedule.setPaused(true, name, at: now) }
    }
  }

  private func recoverStarts() throws {
    try engine.rateRecords.removeOld(at: engine.date)
    let starts = try engine.rateRecords.read(at: .now())
    engine.scheduler.change { schedule, _ in schedule.recall(starts) }
  }

  /// - Parameter cancelled: receives jobs that were told to end, with the reason.
  private mutating func recover(
    _ ids: ArraySlice<ManagedObjectID>, _ cancelled: inout [(ManagedObjectID, String)]
  ) throws -> [NewJob] {
    let (engine, files, present, halfAdmitted, replacing) = (engine, files, present, halfAdmitted, replacing)
    let (jobs, newFiles, newReplacing, toldToEnd) = try ManagedObjectContext(parent: engine.main, name: "recovery")
      .performAndWait {
        context in
        let objects = try context.fetch(FetchRequest<Job>(objectIDs: ids))
          .sorted { $0.objectID.key < $1.objectID.key }
        let specifications = objects.map { job in Result { try JobSpecification(record: job, withArguments: false) } }
        let names = specifications.flatMap { (try? $0.get()).map { $0.after + $0.afterAny } ?? [] }
        let known = try KnownJobs(names, context, scheduler: engine.scheduler)
        var newFiles: [FileName: LiveFile] = [:]
        var newReplacing = replacing
        var jobs: [NewJob] = []
        var toldToEnd: [(ManagedObjectID, String)] = []
        for (job, specification) in zip(objects, specifications) {
          // After a power cut it may lie in new/ again, where it is recognized as a repetition.
          let file: LiveFile? = job.file.map { FileName($0) }.flatMap { name in
            guard present.contains(name) else { return nil }
            let file =
              files[name] ?? newFiles[name]
              ?? LiveFile(name: name, jobCount: 0, isOfEarlierRun: true, isBeingAdmitted: name == halfAdmitted)
            newFiles[name] = file
            file.expectJob()
            return file
          }
          if let event = job.pendingStop, event != .held {
            toldToEnd.append((job.objectID, job.stopReason ?? job.failure ?? "cancelled"))
          }
          var new = Self.recover(job, specification, file: file, known: known, engine: engine)
          if let file, (try? specification.get())?.replacements.isEmpty == false {
            // Not over before it has been read again.
            if newReplacing.insert(file.name).inserted { file.expectJob() }
            new.wholeFile = job.file
          }
          if let halfAdmitted, job.file == halfAdmitted.description { new.wholeFile = job.file }
          jobs.append(new)
        }
        try context.save()
        return (jobs, newFiles, newReplacing, toldToEnd)
      }
    cancelled += toldToEnd
    self.files.merge(newFiles) { _, new in new }
    self.replacing = newReplacing
    return jobs
  }

  /// Recovers one job of an earlier run. An attempt that the daemon's end cut short is made up for, within reason: a
  /// job that ends the daemon itself must not do so for ever.
  private static func recover(
    _ job: Job, _ specification: Result<JobSpecification, any Error>, file: LiveFile?, known: KnownJobs,
    engine: JobEngine
  ) -> NewJob {
    // A record that somebody has made unreadable is reported when the job starts.
    let specification = (try? specification.get()) ?? JobSpecification(type: job.type, queue: job.queue)
    // A clock that was set back meanwhile must not make a delay longer than it can be.
    let delay = engine.policy.longestDelay(
      of: specification, engine.handlers[job.type], after: Int(job.attempt))
    let latest = Moment.now().wall + delay.milliseconds
    var new = NewJob(id: job.objectID, file: file, specification: specification, name: job.id)
    switch job.currentState {
    case .running:
      job.currentState = .available
      if job.attempt < interruptionLimit { job.maxAttempts += 1 }
    case .held: new.isHeld = true
    case .retryable: new.retryTime = job.dueAt.map { min($0.milliseconds, latest) }
    default: break
    }
    // What a job of a fleet waits for its lead decides, from the same columns; the store was copied from there.
    let isOfFleet = job.spool != nil
    let isBegun = Int(job.attempt) > (isOfFleet ? specification.earlierAttempts : 0)
    let isUndecided = isOfFleet && job.currentState == .available && !isBegun
    if ![.scheduled, .held, .waiting].contains(job.currentState) && !isUndecided { new.specification.notBefore = nil }
    // An operator told an attempt to end. A job to be cancelled is kept from starting until it is.
    if let event = job.pendingStop {
      new.isHeld = true
      new.retryTime = nil
      if event == .held {
        job.currentState = .held
        // It is; told again at the next start, it would be held though it was released meanwhile.
        if job.stopReason != JobReplacement.reason { job.setPendingStop(nil) }
      }
    }
    // One that was put back waits anew; one whose attempt was cut short has its place, and has not waited till now.
    if job.file != nil, let created = job.createdAt {
      new.readyTime = max(created, job.dueAt ?? created).milliseconds
      new.isResumed = isBegun
    }
    // A job that has begun waits for nothing any more: what it waited for may have been put back since, or removed by
    // retention. Nor does a job wait that was put back itself, and has no file since then.
    let isHeldEarly = job.currentState == .held && !isBegun && (isOfFleet || job.file != nil)
    let mayWait = job.currentState == .waiting || isUndecided || isHeldEarly
    if mayWait {
      new.blockers = blockers(of: specification, known)
      new.needs = known.objects(namedBy: specification)
    }
    if isUndecided && !new.isHeld {
      let isEarly = new.specification.notBefore.map { $0 > Date() } ?? false
      job.currentState = !new.blockers.isEmpty ? .waiting : isEarly ? .scheduled : .available
    }
    // It is this host's alone now.
    if isOfFleet { job.spool = nil }
    return new
  }

  /// The blockers of a job; those that have failed meanwhile are found by ``JobControl/resolveBlockers(of:)``.
  private static func blockers(of job: JobSpecification, _ known: KnownJobs) -> [NewJob.Blocker] {
    var blockers: [NewJob.Blocker] = []
    for (names, mayFail) in [(job.after, false), (job.afterAny, true)] {
      for name in names {
        let other = known[name]
        if other?.state == .completed || (mayFail && other?.state.isFinal == true) { continue }
        blockers.append(
          NewJob.Blocker(subject: other.map { .job($0.objectID) } ?? .name(name), mayFail: mayFail))
      }
    }
    if let batch = job.afterBatch { blockers.append(NewJob.Blocker(subject: .batch(batch), mayFail: true)) }
    return blockers
  }
}
