import Configuration
import Dispatch
import Foundation
import HTTPService
import JobDaemon
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// The daemon as a service: its status server, signals, the service manager's notifications, the end of the process.
///
/// A reload that brings new models ends the daemon as a stop does, and starts another one on the store opened anew; the
/// socket and the lock stay. What a context holds is of one model, so none of it outlives the change.
final class Service: Sendable {
  /// A daemon on an open store, with the server of its status.
  private struct Engine: Sendable {
    let daemon: Daemon
    let servers: [HTTPServer]
    let coordinator: PersistentStoreCoordinator
    let settings: Settings
  }

  /// The stages of the service.
  private enum Stage {
    /// Next: reloading, stopping.
    case running
    /// A new configuration is read, and new models are tried on the store, beside the running daemon. Next: running,
    /// finishing, stopping.
    case reloading
    /// The daemon ends, so that another one can start with new models. Next: opening.
    case finishing
    /// There is no daemon: all that was merged is on disk, and the store is being opened. Next: joining.
    case opening
    /// A daemon joins its fleet, and runs nothing yet. Next: starting.
    case joining
    /// Next: running.
    case starting
    case stopping
  }

  private struct State {
    var signals: SignalSource?
    var stage = Stage.starting
    var engine: Engine?
    /// Asked for while models were being taken, or a reload was under way.
    var isStopWanted = false
    var isReloadWanted = false
  }

  /// The time that clients have for reading their last replies.
  private static let replyTime = Duration.seconds(5)

  private let assembly: Assembly
  private let opening: StoreOpening
  private let listeners: Listeners
  private let gate = AccessGate()
  private let load: @Sendable () throws -> Settings
  private let queue: DispatchQueue
  private let watchdog: Watchdog
  private let state = Mutex(State())
  private var log: DaemonLog { assembly.log }

  /// - Parameters:
  ///   - opening: opens the store again with other models.
  ///   - listeners: the sockets of the status API.
  ///   - load: reads the folder of the configuration.
  init(
    _ assembly: Assembly, _ opening: StoreOpening, listeners: Listeners,
    load: @escaping @Sendable () throws -> Settings
  ) {
    self.assembly = assembly
    self.opening = opening
    self.listeners = listeners
    self.load = load
    queue = DispatchQueue(label: "service")
    watchdog = Watchdog(queue: queue, log: assembly.log)
  }

  // MARK: Start

  func start(_ settings: Settings, on opened: StoreOpening.Opened) throws {
    SignalSource.ignoreBrokenPipes()
    let signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], queue: queue) { [self] number in
      number == SIGHUP ? reload() : stop()
    }
    state.withLock { $0.signals = signals }
    try begin(settings, on: opened)
    if let interval = try ServiceManager.watchdogInterval() {
      // Nothing can hang that is not there, while models are being taken.
      watchdog.begin(interval) { [self] in state.withLock { $0.engine?.daemon }?.hangingParts() ?? [] }
    }
    listeners.report(settings.tokens, to: log)
    log.notice("ready")
    run()
  }

  /// Starts a daemon and its status server.
  ///
  /// - Parameter predecessor: the daemon that has ended for this one.
  private func begin(_ settings: Settings, on opened: StoreOpening.Opened, after predecessor: Daemon? = nil) throws {
    warn(of: settings)
    var parts = try assembly.parts(settings, on: opened)
    parts.predecessor = predecessor
    let daemon = try Daemon(parts) { [log] failure in
      // Nothing more may be acknowledged, so the end is immediate.
      switch failure {
      case .storeFailure(let message):
        log.error(
          "the store failed; ending, so that the next start finds out what is on disk: \(message)", as: .storeFailed)
        ExitCode.storeFailure.exitNow()
      case .fenced:
        log.error(
          "others of the fleet have this host's work: it was silent for too long, or another daemon has joined under the same "
            + "[Fleet] Name= and spool, which two hosts must not share; ending, to join the fleet anew", as: .fenced)
        ExitCode.temporaryFailure.exitNow()
      case .internalFailure(let message):
        log.error("\(message)")
        ExitCode.internalFailure.exitNow()
      }
    }
    gate.replace(settings.tokens)
    let status = StatusService(daemon, gate: gate)
    let servers =
      try [status.server(on: listeners.unix.descriptor)] + listeners.tcp.map { try status.server(on: $0.descriptor) }
    let isStopWanted = state.withLock { state in
      state.stage = .joining
      return state.isStopWanted
    }
    // From here on a stop ends the process at once.
    if isStopWanted { leave(isFlushed: true) }
    try daemon.join()
    state.withLock { $0.stage = .starting }
    try daemon.start()
    if let full = opened.fullDisk { daemon.tellOfFullStore(full.error, since: full.since) }
    for server in servers { try server.start() }
    let engine = Engine(daemon: daemon, servers: servers, coordinator: opened.coordinator, settings: settings)
    state.withLock { $0.engine = engine }
  }

  /// Warns of settings that have no effect here.
  private func warn(of settings: Settings) {
    let types = settings.types.map(\.definition).filter { $0.niceness != nil }.map(\.type)
    if types.isEmpty || ProcessPriority.canBeLowered { return }
    log.warning(
      "Nice= has no effect (types: \(types.joined(separator: ", "))): the service's SystemCallFilter= forbids setpriority; "
        + "allow it with \"systemctl edit bobbind\" and the lines [Service], SystemCallFilter=setpriority")
  }

  /// Tells the service manager that the daemon is ready, and does what was asked for meanwhile.
  private func run() {
    let (engine, isStopWanted, isReloadWanted) = state.withLock { state in
      state.stage = .running
      defer { state.isReloadWanted = false }
      return (state.engine, state.isStopWanted, state.isReloadWanted)
    }
    engine?.daemon.tellStatus()
    log.tellManager(.ready)
    if isStopWanted {
      queue.async { self.stop() }
    } else if isReloadWanted {
      queue.async { self.reload() }
    }
  }

  // MARK: Reload

  /// Reads the configuration anew, and puts it into force.
  ///
  /// A trial of new models on a large store takes long: neither the watchdog nor a stop waits for it.
  private func reload() {
    let engine = state.withLock { state in
      if state.stage == .running {
        state.stage = .reloading
        return state.engine
      }
      state.isReloadWanted = true
      return nil
    }
    guard let engine else { return }
    log.tellManager(.reloading)
    DispatchQueue(label: "reload").async { [self] in
      let result = Result { () -> (Settings, ModelChange) in
        let new = try load()
        return (new, ModelChange(from: engine.settings.model, to: new.model) { try opening.tryOnStore(new.model) })
      }
      queue.async { self.endReload(result, of: engine) }
    }
  }

  private func endReload(_ result: Result<(Settings, ModelChange), any Error>, of engine: Engine) {
    let isRunning = state.withLock { state in
      if state.stage == .reloading { state.stage = .running }
      return state.stage == .running
    }
    // It stops.
    if !isRunning { return }
    do {
      let (new, change) = try result.get()
      try putIntoForce(new, change, replacing: engine)
    } catch {
      let mistakes = "\(error)".split(separator: "\n").map(String.init)
      for line in mistakes { log.error(line) }
      log.error("the new configuration is refused, the old one stays in force", as: .configurationRefused)
      engine.daemon.noteReload { $0.mistakes = mistakes }
      log.tellManager(.ready)
    }
    let isAgain = state.withLock { state in
      defer { if state.stage == .running { state.isReloadWanted = false } }
      return state.stage == .running && state.isReloadWanted
    }
    if isAgain { reload() }
  }

  private func putIntoForce(_ new: Settings, _ change: ModelChange, replacing engine: Engine) throws {
    if case .taken(let differences) = change {
      // Schedules may name what the new models have.
      let coordinator = PersistentStoreCoordinator(model: new.model)
      _ = try assembly.schedules(new, try assembly.builtInHandlers(on: coordinator))
      return takeModels(new, differences, replacing: engine)
    }
    warn(of: new)
    let builtIn = try assembly.builtInHandlers(on: engine.coordinator)
    let schedules = try assembly.schedules(new, builtIn)
    engine.daemon.reload(
      new.configuration, declaredHandlers: builtIn.handlers(of: new.types), hotFolders: new.hotFolders,
      schedules: schedules)
    gate.replace(new.tokens)
    if case .refused(let reasons) = change {
      for reason in reasons { log.error("the new models are not taken: \(reason)", as: .modelsRefused) }
      log.error("the old models stay in force; the rest of the configuration is the new one")
      engine.daemon.noteReload { ($0.mistakes, $0.untakenModels) = ([], reasons) }
    } else {
      engine.daemon.noteReload { ($0.mistakes, $0.untakenModels) = ([], []) }
    }
    log.notice("reloaded")
    log.tellManager(.ready)
  }

  /// Ends the daemon and starts another one with new models; if the store refuses them after all, with the old ones.
  private func takeModels(_ new: Settings, _ differences: [String], replacing engine: Engine) {
    state.withLock { $0.stage = .finishing }
    log.notice("taking new models as soon as the running jobs have ended: \(differences.joined(separator: ", "))")
    log.tellManager(.status("taking new models: finishing running jobs"))
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [self] in
      let isFlushed = await end(engine)
      guard isFlushed else { leave(isFlushed: false) }
      if engine.daemon.hasRunningHandlers {
        log.error("a handler goes on though its job was told to end; ending, to start anew with the new models")
        ExitCode.temporaryFailure.exitNow()
      }
      let isStopWanted = state.withLock { state in
        state.engine = nil
        state.stage = .opening
        return state.isStopWanted
      }
      if isStopWanted { leave(isFlushed: true) }
      log.tellManager(.status("taking new models: opening the store"))
      var settings = new
      settings.configuration = assembly.configuration.reload(new.configuration, log: log)
      open(settings, after: engine.daemon) { [self] error in
        log.error("the new models are not taken, and the old settings stay in force: \(error)", as: .modelsRefused)
        // Whole: schedules and types may name what only the new models have.
        var old = engine.settings
        old.configuration = assembly.configuration.reload(old.configuration, log: log)
        open(old, after: engine.daemon, untaken: ["\(error)"]) { [self] error in fail(error) }
      }
    }
  }

  /// Opens the store and starts a daemon on it.
  ///
  /// - Parameters:
  ///   - predecessor: the daemon that has ended for this.
  ///   - reasons: the reasons why other models were not taken.
  ///   - refused: called if the store can't be opened with these models.
  private func open(
    _ settings: Settings, after predecessor: Daemon, untaken reasons: [String] = [],
    refused: @escaping @Sendable (any Error) -> Void
  ) {
    // The old models change nothing that others could have locked.
    opening.begin(settings.model, waitsForTables: !reasons.isEmpty) { [self] result in
      let opened: StoreOpening.Opened
      do { opened = try result.get() } catch { return refused(error) }
      do { try begin(settings, on: opened, after: predecessor) } catch { fail(error) }
      state.withLock { $0.engine }?.daemon.noteReload { $0.untakenModels = reasons }
      log.notice("reloaded")
      run()
    }
  }

  /// Ends the process, because no daemon can be started again.
  private func fail(_ error: any Error) -> Never {
    for line in "\(error)".split(separator: "\n") { log.error(String(line)) }
    ExitCode(failedStart: error).exitNow()
  }

  // MARK: Stop

  private func stop() {
    let (stage, engine) = state.withLock { state in
      if state.stage == .reloading { state.stage = .running }
      defer { if state.stage == .running { state.stage = .stopping } }
      state.isStopWanted = true
      return (state.stage, state.engine)
    }
    if stage == .stopping { return }
    log.tellManager(.stopping, .status("finishing running jobs"))
    log.notice("stopping")
    if stage == .opening || stage == .joining {
      // Nothing runs that would have to be finished, and a store or a fleet that does not answer is not to be waited for.
      sayGoodbye(isFlushed: true)
      ExitCode.success.exitNow()
    }
    guard stage == .running, let engine else { return }
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [self] in
      leave(isFlushed: await end(engine))
    }
  }

  /// Ends a daemon: running jobs finish, what is merged goes to disk, the store is closed.
  ///
  /// - Returns: true if everything merged is on disk.
  private func end(_ engine: Engine) async -> Bool {
    let flush = TimeExtension("stopping: writing to disk", queue: queue, log: log) { engine.daemon.writerActivity }
    defer { flush.end() }
    let isFlushed = await engine.daemon.stop { flush.begin() }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      // It blocks until its last replies are sent.
      DispatchQueue(label: "shutdown").async {
        engine.daemon.answerWaiters(within: Self.replyTime)
        for server in engine.servers { server.stop() }
        engine.daemon.leaveFleet()
        continuation.resume()
      }
    }
    do { try engine.coordinator.close() } catch { log.error("the store can't be closed: \(error)") }
    return isFlushed
  }

  /// Ends the process.
  private func leave(isFlushed: Bool) -> Never {
    sayGoodbye(isFlushed: isFlushed)
    exit(isFlushed ? ExitCode.success.rawValue : ExitCode.storeFailure.rawValue)
  }

  private func sayGoodbye(isFlushed: Bool) {
    log.notice(isFlushed ? "stopped" : "stopped; what is not on disk runs again from the spool")
    do { try listeners.unix.removeFile() } catch { log.error("the socket can't be removed: \(error)") }
  }
}
