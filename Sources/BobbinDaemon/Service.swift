import Configuration
import Dispatch
import Foundation
import HTTPService
import JobDaemon
import Jobs
import Synchronization
import SystemSupport

/// The daemon as a service: its status server, signals, the service manager's notifications, the end of the process.
final class Service: Sendable {
  private let daemon: Daemon
  private let server: HTTPServer
  private let log: DaemonLog
  private let closeStore: @Sendable () throws -> Void
  private let lock: FileLock
  private let listener: UnixListener
  private let load: @Sendable () throws -> Settings
  private let queue: DispatchQueue
  private let watchdog: OneShotTimer
  private let state = Mutex(State())

  /// The settings in the configuration's folder, which a reload puts into force.
  struct Settings {
    let configuration: Configuration
    let declaredHandlers: [any JobHandler]
    let hotFolders: [HotFolder]
    let schedules: [ScheduledFile]
  }

  private struct State {
    var signals: SignalSource?
    var isStopping = false
  }

  init(
    _ parts: Daemon.Parts, listener: UnixListener, lock: FileLock,
    load: @escaping @Sendable () throws -> Settings
  ) throws {
    log = parts.log
    closeStore = { [coordinator = parts.coordinator] in try coordinator.close() }
    self.lock = lock
    self.listener = listener
    self.load = load
    queue = DispatchQueue(label: "service")
    watchdog = OneShotTimer(queue: queue)
    let log = parts.log
    daemon = try Daemon(parts) { failure in
      // Nothing more may be acknowledged, so the end is immediate.
      switch failure {
      case .storeFailure(let message):
        log.error("the store failed; ending, so that the next start finds out what is on disk: \(message)")
        ExitCode.storeFailure.exitNow()
      case .fenced:
        log.error("this host was silent for too long, and others have its work; ending, to join the fleet anew")
        ExitCode.temporaryFailure.exitNow()
      case .internalFailure(let message):
        log.error("\(message)")
        ExitCode.internalFailure.exitNow()
      }
    }
    server = try StatusService(daemon).server(on: listener)
  }

  func start() throws {
    SignalSource.ignoreBrokenPipes()
    let signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], queue: queue) { [self] number in
      number == SIGHUP ? reload() : stop()
    }
    state.withLock { $0.signals = signals }
    try daemon.start()
    try server.start()
    if let interval = try ServiceManager.watchdogInterval() { feedWatchdog(every: interval / 2) }
    log.tellManager(.ready, .status(daemon.statusText))
    log.notice("ready")
  }

  /// Feeds the service manager's watchdog at half its interval while this service's queue still runs.
  private func feedWatchdog(every period: Duration) {
    watchdog.arm(after: period) { [self] in
      // If main hangs, the ping is not answered, and nothing feeds the watchdog.
      daemon.ping { self.log.tellManager(.watchdog) }
      feedWatchdog(every: period)
    }
  }

  private func reload() {
    log.tellManager(.reloading)
    do {
      let new = try load()
      daemon.reload(
        new.configuration, declaredHandlers: new.declaredHandlers, hotFolders: new.hotFolders, schedules: new.schedules)
      log.notice("reloaded")
    } catch let error as ConfigurationError {
      for problem in error.problems { log.error("\(problem)") }
      log.error("the new configuration is refused, the old one stays in force")
    } catch {
      log.error("the new configuration is refused, the old one stays in force: \(error)")
    }
    log.tellManager(.ready)
  }

  private func stop() {
    let isFirst = state.withLock { state in
      defer { state.isStopping = true }
      return !state.isStopping
    }
    guard isFirst else { return }
    log.tellManager(.stopping, .status("finishing running jobs"))
    log.notice("stopping")
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [self] in
      let isFlushed = await daemon.stop()
      await stopServer()
      do { try closeStore() } catch { log.error("the store can't be closed: \(error)") }
      log.notice(isFlushed ? "stopped" : "stopped; what is not on disk runs again from the spool")
      do { try listener.removeFile() } catch { log.error("the socket can't be removed: \(error)") }
      exit(isFlushed ? ExitCode.success.rawValue : ExitCode.storeFailure.rawValue)
    }
  }

  /// Stops the status server, which blocks until its last replies are sent.
  private func stopServer() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      DispatchQueue(label: "shutdown").async { [server] in
        server.stop()
        continuation.resume()
      }
    }
  }
}
