package import Configuration
import Dispatch
import Foundation
import HTTPService
package import Jobs
package import ObjectGraph
import JobSchedule
import Synchronization
package import SystemSupport

/// The daemon: intake, workers, the three levels of contexts, and the status socket, from start to end.
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
    package var log: DaemonLog

    package init(
      paths: Paths, configuration: ConfigurationBox, coordinator: PersistentStoreCoordinator,
      handlers: [any JobHandler], declaredHandlers: [any JobHandler] = [],
      killLeftovers: @escaping @Sendable () throws -> Int = { 0 }, log: DaemonLog
    ) {
      self.paths = paths
      self.configuration = configuration
      self.coordinator = coordinator
      self.handlers = handlers
      self.declaredHandlers = declaredHandlers
      self.killLeftovers = killLeftovers
      self.log = log
    }
  }

  private let core: DaemonCore
  private let killLeftovers: @Sendable () throws -> Int
  private let server: HTTPServer

  /// Ties the parts together; nothing runs yet.
  ///
  /// - Parameters:
  ///   - listener: the socket of the status API.
  ///   - onFatal: called when the daemon can't continue; the process should end.
  package init(
    _ parts: Parts, listener: UnixListener, onFatal: @escaping @Sendable (FatalFailure) -> Void
  ) throws {
    let settings = parts.configuration.value
    killLeftovers = parts.killLeftovers
    core = try DaemonCore(
      paths: parts.paths, configuration: parts.configuration, log: parts.log, coordinator: parts.coordinator,
      handlers: parts.handlers, onFatal: onFatal)
    core.handlers.setDeclared(parts.declaredHandlers)
    let service = StatusService(core)
    var limits = HTTPServerLimits()
    limits.connections = settings.status.maxConnections
    limits.reservedConnections = 8
    limits.connectionsPerUser = settings.status.maxConnectionsPerUser
    limits.connectionsPerStranger = max(1, settings.status.maxConnectionsPerUser / 4)
    limits.strangerConnections = max(1, settings.status.maxConnections / 4)
    limits.waitingRequests = limits.connections + limits.reservedConnections
    limits.bodyBytes = settings.status.maxRequestSize
    let router = service.router()
    server = try HTTPServer(
      listener: listener.descriptor, limits: limits, standing: { service.standing($0) },
      handler: { router.reply(to: $0) })
  }

  /// Recovers what an earlier run left, then starts to claim and run jobs.
  package func start() throws {
    try core.removeLeftovers(killProcesses: killLeftovers)
    core.policy.applyLimits(to: core.scheduler, core.handlers, replacing: nil)
    core.workers.start(count: core.configuration.value.workers.count)
    try core.begin()
    try server.start()
  }

  /// Puts a new configuration and new handlers of declared types into force, as far as that needs no restart.
  package func reload(_ new: Configuration, declaredHandlers: [any JobHandler]) {
    let old = core.configuration.value
    for change in new.changes(from: old) { core.log.notice("reload: \(change)") }
    let settings = new.reloaded(over: old)
    core.configuration.replace(settings)
    core.handlers.setDeclared(declaredHandlers)
    core.policy.applyLimits(to: core.scheduler, core.handlers, replacing: old)
    core.scheduler.change { [handlers = core.handlers] schedule, now in
      schedule.resumeJobs(ofTypes: { handlers[$0] != nil }, at: now)
    }
    core.retention.runSoon()
    core.failedFiles.runSoon()
    core.flusher.reconfigure(settings.writer)
    for handler in core.handlers.own { handler.configurationDidChange() }
    core.intake.reconfigure(settings.spool)
    core.log.setLevel(settings.log.level)
  }

  /// The status line that the service manager shows.
  package var statusText: String { core.statusText }

  /// Calls back from main's executor, behind whatever it is doing: the sign that the daemon makes progress.
  package func ping(_ answer: @escaping @Sendable () -> Void) { core.main.perform { _ in answer() } }

  /// Stops within the configured time: no more intake, running jobs finish or go back to the spool, everything that is
  /// merged goes to disk.
  ///
  /// - Returns: true if everything merged is on disk.
  package func stop() async -> Bool {
    let limit = core.configuration.value.writer.shutdownTimeout
    core.intake.stop()
    core.scheduler.close()
    await core.workers.finish(within: limit)
    core.control.close()
    core.retention.stop()
    core.failedFiles.stop()
    for handler in core.handlers.own { await handler.shutDown(by: .after(.seconds(5))) }
    await core.merger.mergeAndWait()
    let isFlushed = await core.flusher.flush()
    core.releaser.drain()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      DispatchQueue(label: "shutdown").async { [server] in
        server.stop()
        continuation.resume()
      }
    }
    return isFlushed
  }
}
