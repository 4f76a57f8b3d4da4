import Configuration
import Foundation
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// The parts of a running daemon, tied together.
final class DaemonCore: Sendable {
  let paths: Paths
  let configuration: ConfigurationBox
  let log: DaemonLog
  let coordinator: PersistentStoreCoordinator
  let writer: ManagedObjectContext
  let main: ManagedObjectContext
  let mainOccupation: OccupationRecorder
  let spool: Spool
  let policy: JobPolicy
  let scheduler: Scheduler
  let waiters: ReleaseWaiters
  let releaser: Releaser
  let flusher: Flusher
  let merger: Merger
  let intake: Intake
  let admission: Admission
  let handlers: HandlerTable
  let engine: JobEngine
  let control: JobControl
  let workers: WorkerPool
  let retention: Retention
  let failedFiles: FailedFiles
  private let memoryReturn: MemoryReturn
  let started = Date()
  /// The same moment on a clock that can't be set.
  let start = ContinuousClock.now
  private let problemText = Mutex<String?>(nil)

  init(
    paths: Paths, configuration: ConfigurationBox, log: DaemonLog, coordinator: PersistentStoreCoordinator,
    handlers: [any JobHandler], onFatal: @escaping @Sendable (FatalFailure) -> Void
  ) throws {
    self.paths = paths
    self.configuration = configuration
    self.log = log
    self.coordinator = coordinator
    let settings = configuration.value
    let occupation = OccupationRecorder()
    mainOccupation = occupation
    writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    // A job's changes win, property by property, over what an import or another program has written meanwhile: a flush
    // covers many jobs, and must not fail because of one.
    writer.mergePolicy = .mergeByPropertyObjectTrump
    main = ManagedObjectContext(
      parent: writer, name: "main", executor: ContextExecutor(label: "main", occupation: occupation))
    spool = try Spool(paths)
    policy = JobPolicy(configuration: configuration)
    let events = DaemonEvents()
    let scheduler = Scheduler(agingStep: settings.jobs.aging, events: events)
    self.scheduler = scheduler
    memoryReturn = MemoryReturn { scheduler.allRunning.isEmpty }
    waiters = ReleaseWaiters()
    let clock = RetentionClock(path: paths.clock, log: log)
    failedFiles = FailedFiles(spool, configuration, clock: clock, log: log)
    let refuser = Refuser(spool: spool, failedFiles: failedFiles, events: events, log: log)
    releaser = Releaser(
      spool: spool, refuser: refuser, scheduler: scheduler, waiters: waiters, events: events, log: log)
    flusher = Flusher(writer: writer, configuration: settings.writer, waiters: waiters, events: events)
    merger = Merger(main: main, flusher: flusher, events: events)
    self.handlers = HandlerTable(handlers)
    engine = JobEngine(
      main: main, handlers: self.handlers, policy: policy, scheduler: scheduler, merger: merger, flusher: flusher,
      waiters: waiters, payloadDirectory: paths.payload, log: log, events: events)
    control = JobControl(engine)
    workers = WorkerPool(engine, AttemptRecorder(engine, control))
    retention = Retention(
      engine, RetentionSteps(main: main, coordinator: coordinator, scheduler: scheduler), clock: clock)
    admission = Admission(main: main, handlers: self.handlers, scheduler: scheduler, policy: policy)
    intake = Intake(
      spool: spool, admission: admission, scheduler: scheduler, flusher: flusher, refuser: refuser, log: log,
      configuration: settings.spool, events: events)
    events.connect { [weak self] event in self?.handle(event, onFatal) }
  }

  /// Recovers the unfinished jobs of an earlier run, then starts the intake.
  func begin() throws {
    var recovery = Recovery(engine, control, present: Set(try spool.current.entries()))
    let count = try recovery.recoverJobs()
    if count > 0 { log.notice("recovering \(count) jobs of an earlier run") }
    try intake.begin(known: Set(recovery.files.keys))
    retention.runSoon()
    failedFiles.runSoon()
  }

  /// Admits a job file submitted over the socket; it is durable in the spool before this returns.
  ///
  /// - Returns: its jobs, in their order.
  func accept(_ data: Data, submitter: UInt32) throws -> [ManagedObjectID] {
    let name = Submitter.fileName(for: submitter)
    let draft = ClaimedFile(name: name, data: data, submitter: submitter)
    let contents = try admission.parse(draft)
    let file = try spool.store(data, as: name, submitter: submitter)
    do {
      return try intake.admit(Admission.Candidate(file: file, contents: contents))
    } catch {
      // A file that the client is told was refused must not run at the next start.
      do { try spool.release(name) } catch let leftover {
        log.error(
          "the refused job file \(name) can't be removed from cur/, and would run at the next start: \(leftover)")
      }
      throw error
    }
  }

  /// The reason why the daemon is not healthy; nil if it is.
  var problem: String? { problemText.withLock { $0 } }

  // MARK: Events

  /// Handles the reports of all parts: the one place where one of them leads to another.
  private func handle(_ event: DaemonEvent, _ onFatal: @Sendable (FatalFailure) -> Void) {
    switch event {
    case .admitted(let files): schedule(files)
    case .overdue(let id): workers.overdue(id)
    case .durable(let jobs):
      releaser.release(jobs)
      retention.note(jobs)
      memoryReturn.noteWork()
    case .released: intake.noteReleased()
    case .doubtful(let name): intake.noteDoubtful(name)
    case .nameFree(let name): intake.noteFree(name)
    case .storeUnwritable(let error): pauseIntake(because: error)
    case .storeWritable:
      problemText.withLock { $0 = nil }
      for pause in [IntakeState.Pause.storageFull, .storeBusy] { intake.resume(pause) }
      log.notice("the store can be written again")
      tellStatus()
    case .storeFailed(let error):
      problemText.withLock { $0 = "\(error)" }
      intake.pause(.stopping)
      onFatal(.storeFailure("\(error)"))
    case .fatal(let failure): onFatal(failure)
    }
  }

  /// Schedules the jobs of admitted files.
  private func schedule(_ files: [AdmittedFile]) {
    merger.merge(finished: files.flatMap(\.finished))
    // Together, so that the most urgent of them runs first.
    let jobs = files.flatMap(\.jobs)
    scheduler.add(jobs)
    control.resolveBlockers(of: jobs)
    control.resolveNames(of: files.flatMap(\.finished))
    // Afterwards, so that a file waits for a job that came with it.
    files.forEach(releaser.expect)
  }

  private func pauseIntake(because error: StoreError) {
    // In this order, so that nothing is claimed in between.
    let isFull = error.code == .full
    intake.pause(isFull ? .storageFull : .storeBusy)
    intake.resume(isFull ? .storeBusy : .storageFull)
    let isNew = problemText.withLock { problem in
      defer { problem = error.description }
      return problem == nil
    }
    guard isNew else { return }
    let cure = isFull ? "there is room again" : "the store is free again"
    log.error("no job files are claimed until \(cure): \(error)")
    tellStatus()
  }
}
