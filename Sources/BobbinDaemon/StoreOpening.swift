import Configuration
import Dispatch
import Foundation
import Glibc
import JobDaemon
import ObjectGraph
import ObjectModel
import PostgresFleet
import PostgresStore
import SQLiteStore
import Synchronization
import SystemSupport

/// Acquires the daemon's lock and opens its store; while the disk is full or the database away, waits, as a running
/// daemon does.
///
/// The system doesn't report free space, nor that a server is back, so a timer starts the next attempt. SIGTERM and SIGINT end the process at
/// once, even in the middle of an attempt: nothing has begun yet that would have to be finished. They do so until the
/// service handles them.
final class StoreOpening: Sendable {
  struct Opened: Sendable {
    let lock: FileLock
    let coordinator: PersistentStoreCoordinator
    /// The database that it shares with other hosts; nil if it has a store of its own.
    let fleet: FleetDatabase?
  }

  private static let interval = Duration.seconds(3)

  private struct State {
    /// Kept between attempts, so that no other daemon gets in between.
    var lock: FileLock?
    var isWaiting = false
    var signals: SignalSource?
  }

  private let paths: Paths
  private let configuration: Configuration
  private let model: ManagedObjectModel
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "store opening")
  private let state = Mutex(State())

  init(_ paths: Paths, _ configuration: Configuration, model: ManagedObjectModel, log: DaemonLog) {
    self.paths = paths
    self.configuration = configuration
    self.model = model
    self.log = log
  }

  /// Begins with the first attempt.
  ///
  /// - Parameter completion: called once, on a queue of its own, with the store or with an error other than a full
  ///   disk.
  func begin(_ completion: @escaping @Sendable (Result<Opened, any Error>) -> Void) throws {
    // Attempts may take long, and occupy their queue.
    let signals = try SignalSource([SIGTERM, SIGINT], queue: DispatchQueue(label: "early stop")) { [log] _ in
      log.tellManager(.stopping)
      log.notice("stopped before it was ready")
      ExitCode.success.exitNow()
    }
    state.withLock { $0.signals = signals }
    queue.async { self.attempt(completion) }
  }

  private func attempt(_ completion: @escaping @Sendable (Result<Opened, any Error>) -> Void) {
    let result = Result { try open() }
    if case .failure(let error) = result, Self.isTransient(error) {
      tellOfWait(error)
      queue.async(after: Self.interval) { self.attempt(completion) }
    } else {
      completion(result)
    }
  }

  private static func isTransient(_ error: any Error) -> Bool {
    let code = (error as? StoreError)?.code
    return code == .full || code == .unavailable || (error as? SystemError)?.isFullDisk == true
  }

  private func tellOfWait(_ error: any Error) {
    let isFirst = state.withLock { state in
      defer { state.isWaiting = true }
      return !state.isWaiting
    }
    if isFirst { log.error("the store can't be opened; trying again every few seconds: \(error)") }
    let reason = configuration.store.url.isEmpty ? "room on the disk of the store" : "the database of the fleet"
    log.tellManager(.status("waiting for \(reason)"), .extendTimeout(Self.interval * 10))
  }

  /// The options with which the daemon opens its store.
  static func options(_ paths: Paths, _ configuration: Configuration) throws -> SQLiteStoreOptions {
    var options = SQLiteStoreOptions()
    options.reclaimsSpace = true
    options.isPrivate = true
    options.externalDataThreshold = configuration.store.externalDataThreshold
    // An operator's model file may be missing for a while.
    options.keepsRemovedEntities = true
    options.migrationInstructions = try migrationInstructions(paths.migrationInstructions)
    // The daemon is the only writer.
    options.noticesOtherWriters = false
    return options
  }

  private static func migrationInstructions(_ path: String) throws -> MigrationInstructions {
    let text: String
    do { text = try String(contentsOfFile: path, encoding: .utf8) } catch CocoaError.fileReadNoSuchFile {
      return MigrationInstructions(file: path)
    } catch {
      throw ModelError(.unreadable, "can't be read: \(error.localizedDescription)", file: path)
    }
    return try MigrationInstructions(text: text, file: path)
  }

  /// Tries the models on the store without changing it.
  static func trial(_ paths: Paths, _ configuration: Configuration, model: ManagedObjectModel) throws -> [String] {
    if !configuration.store.url.isEmpty { return try fleetTrial(paths, configuration, model: model) }
    let options = try options(paths, configuration)
    let outcome: StoreTrial.Outcome
    do { outcome = try StoreTrial.run(at: URL(fileURLWithPath: paths.store), model: model, options: options) } catch {
      guard [.cannotOpen, .readOnly, .busy].contains(error.code) else { throw error }
      return ["the models were not tried on the store: \(error)"]
    }
    guard case .migration(let changes) = outcome else { return [] }
    let mappings = try FileManager.default.contentsOfDirectory(atPath: paths.models).sorted()
      .filter { $0.hasSuffix(".xcmappingmodel") }
      .map { "\(paths.models)/\($0) is not read: mapping models need classes of Core Data's" }
    return ["the next start migrates \(paths.store):"] + changes.map { "  " + $0 } + mappings
  }

  private static func fleetTrial(
    _ paths: Paths, _ configuration: Configuration, model: ManagedObjectModel
  ) throws -> [String] {
    let changes: [String]
    do {
      changes = try PostgresStore.changes(
        byOpening: configuration.store.url, model: model, options: fleetOptions(paths, configuration))
    } catch {
      guard [.unavailable, .cannotOpen, .readOnly, .busy].contains(error.code) else { throw error }
      return ["the models were not tried on the database of the fleet: \(error)"]
    }
    return changes.isEmpty ? [] : ["the next start changes the database of the fleet:"] + changes.map { "  " + $0 }
  }

  private static func fleetOptions(_ paths: Paths, _ configuration: Configuration) -> PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.applicationName = "bobbind"
    // A host reads a job anew when it is assigned to it.
    options.noticesOtherWriters = false
    options.externalDataThreshold = configuration.store.externalDataThreshold
    // A model file may be missing on this host, or others have not got it yet.
    options.sharing = FleetDatabase.sharing(
      besides: configuration.fleet.spoolName(paths), at: configuration.store.url, by: LedgerRelease(Release.version))
    return options
  }

  private func open() throws -> Opened {
    try closeFolder()
    let lock = try state.withLock(\.lock) ?? FileLock(path: paths.state + "/lock")
    state.withLock { $0.lock = lock }
    let coordinator = PersistentStoreCoordinator(model: model)
    // Final jobs are seldom asked for, and would evict unfinished ones from the cache.
    try coordinator.excludeFromRowCache(Condition(format: "finishedAt != nil"), ofEntity: Job.entityName)
    let url = configuration.store.url
    if url.isEmpty {
      let options = try Self.options(paths, configuration)
      try coordinator.open(.sqlite(at: URL(fileURLWithPath: paths.store), options: options))
      return Opened(lock: lock, coordinator: coordinator, fleet: nil)
    }
    let options = Self.fleetOptions(paths, configuration)
    try coordinator.open(.postgresql(url: url, options: options))
    return Opened(lock: lock, coordinator: coordinator, fleet: try fleet(coordinator, options))
  }

  private func fleet(
    _ coordinator: PersistentStoreCoordinator, _ options: PostgresStoreOptions
  ) throws -> FleetDatabase {
    guard let job = coordinator.model.entitiesByName[Job.entityName] else {
      throw StoreError(.incompatibleModel, "the model has no entity \(Job.entityName)")
    }
    let founder = FleetFounder(spool: configuration.fleet.spoolName(paths)) { [paths] in try Self.claimedFiles(paths) }
    return try FleetDatabase(
      configuration.store.url, options: options, job: job, coordinatorOrdinal: coordinator.ordinal,
      release: LedgerRelease(Release.version), founder: founder)
  }

  /// The names of the claimed job files, as jobs' records have them; none before the first start of the daemon.
  private static func claimedFiles(_ paths: Paths) throws(SystemError) -> [String] {
    do throws(SystemError) {
      return try Directory(path: paths.spoolCurrent).entries().map(\.description)
    } catch {
      if error.code == .noEntry { return [] }
      throw error
    }
  }

  /// Restricts the store's folder to the daemon's user: whoever can open the store's files can read everything jobs
  /// have stored, and can keep them locked.
  private func closeFolder() throws {
    let mode = try Directory(path: paths.state).status().mode
    if mode & 0o077 == 0 { return }
    try systemCall("chmod", paths.state) { chmod(paths.state, mode_t(mode & 0o700)) }
    log.notice(
      "\(paths.state) was open to other users (mode 0\(String(mode, radix: 8))); it is the daemon's own now (0700)")
  }
}
