package import Configuration
package import PostgresFleet
import PostgresStore
import Foundation
import JSONText
package import Jobs
package import ObjectGraph
import JobSchedule
import Synchronization
import SystemSupport

/// The daemon: the parts that take a job from its file to the disk, tied together, from start to stop.
///
/// The one place where what a part reports leads to another part. What people and programs ask it comes in by the
/// folder Status, which it does not know.
package final class Daemon: Sendable {
  /// The parts of a daemon; its maker opens the store.
  package struct Parts: Sendable {
    package var paths: Paths
    package var configuration: ConfigurationBox
    package var coordinator: PersistentStoreCoordinator
    /// The built-in handlers and those of the program.
    package var handlers: [any JobHandler]
    /// The handlers of declared types.
    package var declaredHandlers: [any JobHandler]
    /// Kills the processes of attempts that an earlier run had begun, and returns how many there were.
    package var killLeftovers: @Sendable () throws -> Int
    /// The hot folders.
    package var hotFolders: [HotFolder]
    /// The database that it shares with other hosts; nil if it has a store of its own.
    package var fleet: FleetDatabase?
    package var schedules: [ScheduledFile]
    /// The daemon of this process that has ended only now, for this one, which goes on with what is counted from its start.
    package var predecessor: Daemon?
    package var log: DaemonLog
    /// The first time for which a fault of this host holds a type, and the longest.
    package var hostFaultDelays = Duration.seconds(1) ... .seconds(60)

    package init(
      paths: Paths, configuration: ConfigurationBox, coordinator: PersistentStoreCoordinator,
      handlers: [any JobHandler], declaredHandlers: [any JobHandler] = [], hotFolders: [HotFolder] = [],
      killLeftovers: @escaping @Sendable () throws -> Int = { 0 }, fleet: FleetDatabase? = nil,
      schedules: [ScheduledFile] = [], log: DaemonLog
    ) {
      self.paths = paths
      self.configuration = configuration
      self.coordinator = coordinator
      self.handlers = handlers
      self.declaredHandlers = declaredHandlers
      self.killLeftovers = killLeftovers
      self.hotFolders = hotFolders
      self.fleet = fleet
      self.schedules = schedules
      self.log = log
    }
  }

  let paths: Paths
  let configuration: ConfigurationBox
  let log: DaemonLog
  let coordinator: PersistentStoreCoordinator
  let uploads: Uploads
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
  let schedules: Schedules
  let handlers: HandlerTable
  let engine: JobEngine
  let control: JobControl
  let workers: WorkerPool
  let retention: Retention
  let failedFiles: FailedFiles
  let notices: Notices
  let copier: StoreCopier
  let meter: JobMeter
  let samples: SampleRecorder
  let jobLog: JobLog
  /// Nil without a fleet.
  let membership: Membership?
  let hotFolders: HotFolders
  private let configuredFolders: [HotFolder]
  let fleetJobs: FleetJobs?
  private let fleetAdmission: FleetAdmission?
  private let killLeftovers: @Sendable () throws -> Int
  private let firstSchedules: (files: [ScheduledFile], areContinued: Bool)
  let memoryReturn: MemoryReturn
  let progressCheck: ProgressCheck
  let started: Date
  /// The same moment on a clock that can't be set.
  let startInstant: ContinuousClock.Instant
  let problemText = Mutex<String?>(nil)
  let telling = Mutex(())
  /// The replies to clients whose wait for jobs has ended.
  let lastReplies = DispatchGroup()
  /// The queue of submissions with a client's key: side by side, two bodies with one key would not know of each other.
  let keyedSubmissions = DispatchQueue(label: "keyed submissions")
  let lastReload = Mutex(Reload())

  /// Ties the parts together; nothing runs yet.
  ///
  /// - Parameter onFatal: called when the daemon can't continue; the process should end.
  package init(_ parts: Parts, onFatal: @escaping @Sendable (FatalFailure) -> Void) throws {
    (paths, configuration, log, coordinator) = (parts.paths, parts.configuration, parts.log, parts.coordinator)
    killLeftovers = parts.killLeftovers
    firstSchedules = (parts.schedules, parts.predecessor != nil)
    started = parts.predecessor?.started ?? Date()
    startInstant = parts.predecessor?.startInstant ?? .now
    let settings = configuration.value
    let occupation = OccupationRecorder()
    mainOccupation = occupation
    writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    // A job's changes win, property by property, over what an import or another program has written meanwhile: a flush
    // covers many jobs, and must not fail because of one.
    writer.mergePolicy = .mergeByPropertyObjectTrump
    main = ManagedObjectContext(
      parent: writer, name: "main", executor: ContextExecutor(label: "main", occupation: occupation))
    spool = try Spool(paths, quota: SpoolQuota(settings.spool))
    policy = JobPolicy(configuration: configuration)
    let events = DaemonEvents()
    let spoolName = settings.fleet.spoolName(paths)
    let membership = parts.fleet.map { [log] database in
      Membership(database, spool: spoolName, agingStep: settings.jobs.aging, events: events, log: log)
    }
    self.membership = membership
    let elsewhere = membership.map { HandledTypes($0, log: parts.log) }
    handlers = HandlerTable(parts.handlers) { elsewhere?.contains($0) ?? false }
    waiters = ReleaseWaiters()
    let scheduler = Scheduler(
      agingStep: settings.jobs.aging, places: settings.fleet.places, events: events,
      mayBegin: { membership?.mayBegin(at: $0) ?? true },
      stop: { run in membership?.stop(of: run).map { RunningJob.Stop($0) } },
      isAwaited: { [waiters] in waiters.contains([$0]) })
    self.scheduler = scheduler
    progressCheck = Self.progressCheck(
      of: scheduler, main: main, occupation: occupation, writer: writer, in: membership)
    memoryReturn = MemoryReturn { scheduler.allRunning.isEmpty }
    let clock = RetentionClock(path: paths.clock, log: log)
    uploads = try Uploads(
      spool, paths, main: main, isShared: membership != nil, configuration: configuration, log: log)
    failedFiles = FailedFiles(spool, configuration, clock: clock, log: log) { [uploads] in uploads.sweepSoon() }
    let refuser = Refuser(spool: spool, failedFiles: failedFiles, events: events, log: log)
    releaser = Releaser(
      spool: spool, refuser: refuser, scheduler: scheduler, waiters: waiters, standbys: membership?.standbys,
      events: events, log: log,
      counts: parts.predecessor?.releaser.finishedCounts ?? [:])
    flusher = Flusher(
      writer: writer, configuration: settings.writer, waiters: waiters, everyJobIsAwaited: membership != nil,
      events: events)
    merger = Merger(main: main, flusher: flusher, events: events)
    jobLog = JobLog(configuration, log: log)
    meter = parts.predecessor?.meter ?? JobMeter()
    meter.observe(nil)
    samples = SampleRecorder(scheduler, flusher, meter: meter, folder: paths.state, log: log)
    engine = JobEngine(
      main: main, handlers: handlers, policy: policy, scheduler: scheduler, rateRecords: RateRecords(main: main),
      merger: merger, flusher: flusher, waiters: waiters,
      hostFaults: HostFaults(delays: parts.hostFaultDelays, events: events, log: log) { isHeld, types in
        if let membership { return membership.types.setWithheld(isHeld, types) }
        scheduler.change { schedule, now in
          for type in types { schedule.setRoom(!isHeld, of: .type(type), now: now) }
        }
      },
      shortages: HostShortages(events: events, scheduler: membership == nil ? scheduler : nil),
      payloadDirectory: paths.payload, uploads: UploadedInputs(paths.uploads),
      syncReleases: { [spool] in try spool.current.synchronize() },
      keepInputs: { [uploads] in uploads.keep($0, of: $1) }, log: log,
      jobLog: jobLog, meter: meter, events: events, membership: membership)
    control = JobControl(engine)
    workers = WorkerPool(engine, AttemptRecorder(engine, control))
    let steps: any RetentionSteps =
      if let membership { FleetRetentionSteps(membership, coordinator, log: log) } else {
        StoreRetentionSteps(
          engine: engine, coordinator: coordinator, clock: clock, control: control)
      }
    retention = Retention(engine, steps)
    fleetAdmission = membership.map { [main, coordinator, handlers, policy, paths] membership in
      FleetAdmission(
        main: main, coordinator: coordinator, handlers: handlers, scheduler: scheduler, policy: policy,
        membership: membership, payloadDirectory: paths.payload)
    }
    admission = Admission(
      main: main, handlers: handlers, scheduler: scheduler, policy: policy, spool: spoolName,
      fleet: fleetAdmission)
    let intake = Intake(
      spool: spool, admission: admission, scheduler: scheduler, merger: merger, flusher: flusher, refuser: refuser,
      log: log, configuration: settings.spool, events: events)
    self.intake = intake
    let user = Credentials.effectiveUser
    let notices = Notices(
      configuration, main: main, coordinator: coordinator, meter: meter, log: log,
      isUnfinished: { batch in scheduler.read { schedule, _ in schedule.hasUnfinished(inBatch: batch) } },
      submit: { data in _ = try intake.accept(data, submitter: user) },
      keep: { [spool] data in _ = try spool.store(data, as: Submitter.fileName(for: user), submitter: user) })
    self.notices = notices
    copier = StoreCopier(coordinator, log: log) { events.send(.copyChanged) }
    schedules = Schedules(
      FiringDesk(main: main, spool: spool, intake: intake, scheduler: scheduler), folder: paths.state,
      spoolName: spoolName, pauses: membership?.schedulePauses, events: events, log: log)
    fleetJobs = membership.map { [main, releaser, waiters, scheduler, log] membership in
      FleetJobs(
        main: main, scheduler: scheduler, releaser: releaser, waiters: waiters, intake: intake, notices: notices,
        membership: membership, events: events, log: log)
    }
    configuredFolders = parts.hotFolders
    hotFolders = HotFolders(
      HotFolderJobs(
        areTaken: { intake.refusal == nil && !scheduler.isFull }, known: admission.known,
        isUnfinished: { job in scheduler.read { schedule, _ in schedule.contains(job) } },
        accept: { try intake.accept($0, submitter: $1).allSatisfy { $0.repeated.isEmpty } },
        problemsDidChange: { events.send(.hotFoldersChanged) }, log: log),
      memories: paths.hotFolderMemories)
    handlers.setDeclared(parts.declaredHandlers)
    events.connect { [weak self] event in self?.handle(event, onFatal) }
  }

  // MARK: Start and stop

  /// Joins the fleet, if there is one, which gives what an earlier run left to others; waits for a database that does not
  /// answer.
  package func join() throws {
    guard let membership else { return }
    let count = try killLeftovers()
    if count > 0 {
      log.warning("killed \(count) processes that jobs of an earlier run had left behind", as: .leftoversKilled)
    }
    let settings = configuration.value
    guard let store = try coordinator.openStore() as? PostgresStore else {
      throw StoreError(.unsupported, "hosts of a fleet share a store in PostgreSQL, and this is another one")
    }
    if membership.hasBoundJobs { try fleetAdmission?.placeAdoptedJobs() }
    try membership.join(store, slots: settings.workers.count, types: handlers.types, settings.fleet)
  }

  /// Recovers what an earlier run left, unless a fleet has it, then starts to claim and run jobs, or what the lead assigns.
  package func start() throws {
    samples.begin()
    uploads.begin()
    if membership != nil { return try startAssigned() }
    try Recovery.removeLeftovers(engine, killProcesses: killLeftovers)
    setLimits(replacing: nil)
    workers.start(count: configuration.value.workers.count)
    var recovery = Recovery(
      engine, control, present: Set(try spool.current.entries()), halfAdmitted: try spool.fileBeingAdmitted())
    let count = try recovery.recoverJobs()
    if count > 0 { log.notice("recovering \(count) \(count == 1 ? "job" : "jobs") of an earlier run") }
    try spool.countFiles(recovery.files)
    try intake.begin(known: recovery.files, replacing: recovery.replacing)
    hotFolders.replace(configuredFolders)
    try schedules.begin(firstSchedules.files, isContinued: firstSchedules.areContinued)
    try copier.begin(configuration.value.store)
    retention.runSoon()
    failedFiles.runSoon()
  }

  private func startAssigned() throws {
    setLimits(replacing: nil)
    workers.start(count: configuration.value.workers.count)
    try spool.countFiles([:])
    try intake.begin(known: [:])
    hotFolders.replace(configuredFolders)
    try schedules.begin(firstSchedules.files, isContinued: firstSchedules.areContinued)
    failedFiles.runSoon()
  }

  /// Sets the limits of queues and types: in this host's schedule, or in the fleet's.
  private func setLimits(replacing old: Configuration?) {
    let limits = policy.limits(handlers, replacing: old)
    if let membership { return membership.tell(.limited(limits)) }
    scheduler.change { $0.setLimits(limits, at: $1) }
  }

  /// Puts a new configuration and new handlers of declared types into force, as far as that needs no restart.
  package func reload(
    _ new: Configuration, declaredHandlers: [any JobHandler], hotFolders folders: [HotFolder] = [],
    schedules: [ScheduledFile] = []
  ) {
    let old = configuration.value
    let settings = configuration.reload(new, log: log)
    handlers.setDeclared(declaredHandlers)
    membership?.types.setHandled(Set(handlers.types))
    setLimits(replacing: old)
    scheduler.change { [handlers] schedule, now in
      schedule.resumeJobs(ofTypes: { handlers[$0] != nil }, at: now)
    }
    engine.hostFaults.tryAll()
    retention.runSoon()
    failedFiles.runSoon()
    flusher.reconfigure(settings.writer)
    copier.reconfigure(settings.store)
    for handler in handlers.own { handler.configurationDidChange() }
    intake.reconfigure(settings.spool)
    spool.quota.reconfigure(settings.spool)
    hotFolders.replace(folders)
    self.schedules.replace(schedules)
  }

  /// Stops within the configured time: running jobs finish or go back to the spool, and what is merged goes to disk.
  ///
  /// - Parameter willFlush: called when no job runs any more, and only the disk is waited for.
  /// - Returns: true if everything merged is on disk.
  package func stop(willFlush: @Sendable () -> Void = {}) async -> Bool {
    let limit = configuration.value.writer.shutdownTimeout
    notices.close()
    schedules.stop()
    // Or else the intake would wait for a database that is away.
    membership?.close()
    // Its workers take no more, so others do.
    membership?.types.setWithheld(true, handlers.types)
    hotFolders.stop()
    schedules.close()
    intake.stop()
    engine.stopTimers()
    scheduler.close()
    await workers.finish(within: limit)
    control.close()
    retention.stop()
    failedFiles.stop()
    uploads.stop()
    copier.stop()
    for handler in handlers.own { await handler.shutDown(by: .after(.seconds(5))) }
    await merger.mergeAndWait()
    willFlush()
    let isFlushed = await flusher.flush()
    notices.flush()
    jobLog.flush()
    samples.stop()
    await membership?.standbys.end()
    releaser.drain()
    hotFolders.finish()
    // What waits for a disk that is full, or a database that is away, would wait for ever.
    flusher.endWaiting()
    await intake.finish()
    return isFlushed
  }

  /// Leaves the fleet, if there is one, behind the last reply, which may tell of its jobs. Blocks.
  package func leaveFleet() { membership?.leave() }

  /// True while a handler runs, also one whose attempt was given up; for a daemon that was stopped.
  package var hasRunningHandlers: Bool { workers.isOccupied }
}
