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

/// Acquires the daemon's locks and opens its store; while the disk is full, the database away or a table in use that has to be
/// changed, waits, as a running daemon does.
///
/// Nobody reports free space, nor that a server is back or a table free, so a timer starts the next attempt. The lock is kept
/// from the first attempt on, so that no other daemon gets in between, also while a store is closed to be opened with
/// another model.
final class StoreOpening: Sendable {
  struct Opened: Sendable {
    let coordinator: PersistentStoreCoordinator
    /// The database that it shares with other hosts; nil if it has a store of its own.
    let fleet: FleetDatabase?
    /// Since when the disk was full, if it had to be waited for, and the error that told so.
    var fullDisk: FullDisk?
  }

  struct FullDisk: Sendable {
    let error: any Error
    let since: Date
  }

  private static let interval = Duration.seconds(3)

  private struct State {
    var locks: [FileLock]?
    /// The reason for the wait that was told last, if there is one.
    var waitReason: String?
    var fullDisk: FullDisk?
    var signals: SignalSource?
  }

  private let paths: Paths
  private let configuration: Configuration
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "store opening")
  private let state = Mutex(State())

  init(_ paths: Paths, _ configuration: Configuration, log: DaemonLog) {
    self.paths = paths
    self.configuration = configuration
    self.log = log
  }

  /// Has SIGTERM and SIGINT end the process at once, even in the middle of an attempt, until the service handles them:
  /// nothing has begun yet that would have to be finished.
  func endOnSignals() throws {
    // Attempts may take long, and occupy their queue.
    let signals = try SignalSource([SIGTERM, SIGINT], queue: DispatchQueue(label: "early stop")) { [log] _ in
      log.tellManager(.stopping)
      log.notice("stopped before it was ready")
      ExitCode.success.exitNow()
    }
    state.withLock { $0.signals = signals }
  }

  /// Begins with the first attempt to open the store with a model.
  ///
  /// - Parameters:
  ///   - waitsForTables: true to wait for tables of a fleet that have to be changed, while others use them.
  ///   - completion: called once, on a queue of its own, with the store or with an error that is not waited for.
  func begin(
    _ model: ManagedObjectModel, waitsForTables: Bool = true,
    completion: @escaping @Sendable (Result<Opened, any Error>) -> Void
  ) {
    state.withLock { ($0.waitReason, $0.fullDisk) = (nil, nil) }
    queue.async { self.attempt(model, waitsForTables: waitsForTables, completion) }
  }

  private func attempt(
    _ model: ManagedObjectModel, waitsForTables: Bool,
    _ completion: @escaping @Sendable (Result<Opened, any Error>) -> Void
  ) {
    let result = extendingTheStart { Result { try open(model) } }
    if case .failure(let error) = result, Self.isTransient(error) || waitsForTables && isInUse(error) {
      tellOfWait(error)
      queue.async(after: Self.interval) { self.attempt(model, waitsForTables: waitsForTables, completion) }
    } else {
      completion(
        result.map { opened in
          var opened = opened
          opened.fullDisk = state.withLock(\.fullDisk)
          return opened
        })
    }
  }

  /// Has the service manager wait while a store is opened, which may have to be migrated first.
  private func extendingTheStart<Value>(_ body: () -> Value) -> Value {
    let isLocal = configuration.store.url.isEmpty
    let time = TimeExtension(
      isLocal ? "opening the store: reading or writing it" : "opening the store: the database is at work",
      queue: DispatchQueue(label: "start"), log: log,
      // What a server does can't be seen from here; one that is away is waited for without an end as well.
      progress: { isLocal ? ProcessActivity.fileBlocks : DispatchTime.now().uptimeNanoseconds })
    time.begin()
    defer { time.end() }
    return body()
  }

  private static func isTransient(_ error: any Error) -> Bool {
    isFull(error) || (error as? StoreError)?.code == .unavailable
  }

  /// True if others use a table of the fleet that has to be changed; a local store in use is a mistake.
  private func isInUse(_ error: any Error) -> Bool {
    !configuration.store.url.isEmpty && (error as? StoreError)?.code == .busy
  }

  private static func isFull(_ error: any Error) -> Bool {
    (error as? StoreError)?.code == .full || (error as? SystemError)?.isFullDisk == true
  }

  private func tellOfWait(_ error: any Error) {
    let more =
      isInUse(error) ? "; others may use what has to be changed, or commits wait for a standby that is away" : ""
    let text = "\(error)\(more)"
    let isNews = state.withLock { state in
      defer { state.waitReason = text }
      if Self.isFull(error), state.fullDisk == nil { state.fullDisk = FullDisk(error: error, since: Date()) }
      return state.waitReason != text
    }
    if isNews { log.error("the store can't be opened; trying again every few seconds: \(text)", as: .storeNotOpened) }
    let reason = configuration.store.url.isEmpty ? "room on the disk of the store" : "the database of the fleet"
    log.tellManager(.status("waiting for \(reason): \(text)"), .extendTimeout(Self.interval * 10))
  }

  /// The options with which the daemon opens its store.
  static func options(_ paths: Paths, _ configuration: Configuration) throws -> SQLiteStoreOptions {
    var options = SQLiteStoreOptions()
    options.reclaimsSpace = true
    options.isPrivate = true
    options.makesViews = true
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

  /// Tries a model on the store that is open; throws what is in the way of opening it anew with that model.
  func tryOnStore(_ model: ManagedObjectModel) throws {
    if configuration.store.url.isEmpty {
      _ = try StoreTrial.run(
        at: URL(fileURLWithPath: paths.store), model: model, options: try Self.options(paths, configuration),
        isOpenHere: true)
    } else {
      _ = try PostgresStore.changes(
        byOpening: configuration.store.url, model: model, options: Self.fleetOptions(paths, configuration))
    }
  }

  /// Tries the models on the store without changing it.
  static func trial(_ paths: Paths, _ configuration: Configuration, model: ManagedObjectModel) throws -> [String] {
    if !configuration.store.url.isEmpty { return try fleetTrial(paths, configuration, model: model) }
    do { try StorePlace(paths).check() } catch let error as StoreError where error.code == .readOnly {
      return ["the models were not tried on the store: \(error)"]
    }
    let options = try options(paths, configuration)
    let outcome: StoreTrial.Outcome
    do { outcome = try StoreTrial.run(at: URL(fileURLWithPath: paths.store), model: model, options: options) } catch {
      guard [.cannotOpen, .readOnly, .busy].contains(error.code) else { throw error }
      return ["the models were not tried on the store: \(error)"]
    }
    guard case .migration(let changes, let onlyAdds) = outcome else { return [] }
    let mappings = try FileManager.default.contentsOfDirectory(atPath: paths.models).sorted()
      .filter { $0.hasSuffix(".xcmappingmodel") }
      .map { "\(paths.models)/\($0) is not read: mapping models need classes of Core Data's" }
    let when = onlyAdds ? "the next start or reload" : "the next start"
    return ["\(when) migrates \(paths.store):"] + changes.map { "  " + $0 } + mappings
  }

  private static func fleetTrial(
    _ paths: Paths, _ configuration: Configuration, model: ManagedObjectModel
  ) throws -> [String] {
    let found: (changes: [String], onlyAdds: Bool)
    do {
      found = try PostgresStore.changes(
        byOpening: configuration.store.url, model: model, options: fleetOptions(paths, configuration))
    } catch {
      guard [.unavailable, .cannotOpen, .readOnly, .busy].contains(error.code) else { throw error }
      return ["the models were not tried on the database of the fleet: \(error)"]
    }
    if found.changes.isEmpty { return [] }
    let when = found.onlyAdds ? "the next start or reload" : "the next start"
    return ["\(when) changes the database of the fleet:"] + found.changes.map { "  " + $0 }
  }

  private static func fleetOptions(_ paths: Paths, _ configuration: Configuration) -> PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.applicationName = "bobbind"
    options.makesViews = true
    // A host reads a job anew when it is assigned to it.
    options.noticesOtherWriters = false
    options.externalDataThreshold = configuration.store.externalDataThreshold
    // A model file may be missing on this host, or others have not got it yet.
    options.sharing = FleetDatabase.sharing(
      besides: configuration.fleet.spoolName(paths), at: configuration.store.url, by: LedgerRelease(Release.version))
    return options
  }

  private func open(_ model: ManagedObjectModel) throws -> Opened {
    let place = StorePlace(paths)
    let locks = try state.withLock(\.locks) ?? place.prepare(hasStore: configuration.store.url.isEmpty, log)
    state.withLock { $0.locks = locks }
    let coordinator = PersistentStoreCoordinator(model: model)
    // Final jobs are seldom asked for, and would evict unfinished ones from the cache.
    try coordinator.excludeFromRowCache(Condition(format: "finishedAt != nil"), ofEntity: Job.entityName)
    let url = configuration.store.url
    if url.isEmpty {
      let options = try Self.options(paths, configuration)
      try coordinator.open(.sqlite(at: URL(fileURLWithPath: paths.store), options: options))
      place.note(log)
      try RestoredStore.adopt(paths, coordinator, log: log)
      return Opened(coordinator: coordinator, fleet: nil)
    }
    let options = Self.fleetOptions(paths, configuration)
    try coordinator.open(.postgresql(url: url, options: options))
    return Opened(coordinator: coordinator, fleet: try fleet(coordinator, options))
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
}
