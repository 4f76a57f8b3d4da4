import Configuration
import Dispatch
import Synchronization
import SystemSupport

/// Finds job files in `new/`, claims and admits them.
///
/// The watcher's events are hints; the scans at the start, after an overflow and after a pause are the truth. All work
/// happens on the intake's own queue, a batch of files at a time.
final class Intake: Sendable {
  /// Files that are admitted in one save.
  static let batchSize = 200
  /// A batch ends early with the file that brings it to so many jobs or bytes: a small file may hold very many jobs.
  static let batchJobs = 2_000
  static let batchBytes = 4 << 20
  /// The delay before jobs that the store had no room for are tried again.
  static let retryDelay = DispatchTimeInterval.seconds(1)

  struct State {
    var configuration: Configuration.Spool
    var watch: SpoolWatch?
    /// The names in `new/` to be claimed.
    var names = PendingNames()
    var unfinished = UnfinishedFiles()
    /// The scan of `new/` that is under way.
    var scan: DirectoryScan?
    var isQueued = false
    var isRescanArmed = false
    /// Files in `cur/` whose jobs are final, to be read again.
    var judged: [FileName] = []
    /// Files that were logged as impossible to claim.
    var troubles: Set<FileName> = []
    /// The reasons why nothing is claimed.
    var pauses: Set<Pause> = []
    var rejected = 0
  }

  enum Pause: Sendable { case storageFull, storeBusy, admissionFull, admissionBusy, tooManyJobs, unflushed, stopping }

  let spool: Spool
  let admission: Admission
  private let flusher: Flusher
  let queue = DispatchQueue(label: "intake")
  let log: DaemonLog
  let release: Releaser
  let start: @Sendable ([Admission.Admitted]) -> Void
  let onFatal: @Sendable (FatalFailure) -> Void
  let state: Mutex<State>

  init(
    spool: Spool, admission: Admission, flusher: Flusher, release: Releaser, log: DaemonLog,
    configuration: Configuration.Spool, onFatal: @escaping @Sendable (FatalFailure) -> Void,
    start: @escaping @Sendable ([Admission.Admitted]) -> Void
  ) {
    self.spool = spool
    self.admission = admission
    self.flusher = flusher
    self.release = release
    self.log = log
    self.start = start
    self.onFatal = onFatal
    state = Mutex(State(configuration: configuration))
  }

  /// The number of files refused since the start.
  var rejectedCount: Int { state.withLock { $0.rejected } }

  func reconfigure(_ configuration: Configuration.Spool) { state.withLock { $0.configuration = configuration } }

  /// Recovers the files that an earlier run left in `cur/`, then watches and scans `new/`.
  ///
  /// - Parameter known: the names of files in `cur/` whose jobs are recovered from the store already.
  func begin(known: Set<FileName>) throws {
    try queue.sync { try recover(known) }
    // Before the first scan: a file that is still being written then raises an event when it is closed.
    let watch = try SpoolWatch(spool, queue: queue, log: log) { [weak self] in self?.notice($0) }
    state.withLock { $0.watch = watch }
    rescan()
  }

  /// Stops claiming; returns when no claim is under way any more.
  func stop() {
    pause(.stopping)
    state.withLock { state in
      state.watch?.stop()
      state.watch = nil
    }
    queue.sync {}
  }

  func pause(_ reason: Pause) { _ = state.withLock { $0.pauses.insert(reason) } }

  func resume(_ reason: Pause) {
    if state.withLock({ $0.pauses.remove(reason) }) != nil { rescan() }
  }

  /// The reason why submissions over the socket are refused; nil if they are not.
  var refusal: Pause? {
    state.withLock { state in
      if state.pauses.contains(.stopping) { return .stopping }
      if !state.pauses.isDisjoint(with: [.storageFull, .admissionFull]) { return .storageFull }
      return state.pauses.isDisjoint(with: [.storeBusy, .admissionBusy]) ? nil : .storeBusy
    }
  }

  func workSoon() {
    let mustQueue = state.withLock { state in
      defer { state.isQueued = true }
      return !state.isQueued
    }
    if mustQueue { queue.async { self.work() } }
  }

  /// Claims batch after batch until there is nothing more, or a pause.
  private func work() {
    state.withLock { $0.isQueued = false }
    while let names = nextBatch() {
      do {
        try claim(names)
      } catch {
        onFatal(.storeFailure("\(error)"))
        return
      }
    }
  }

  private func nextBatch() -> [PendingNames.Sighted]? {
    guard state.withLock(\.pauses.isEmpty) else { return nil }
    scanFurther()
    // Paused before the check, so that the call which ends the pause can't come too early.
    pause(.tooManyJobs)
    guard release.hasRoom(else: { [weak self] in self?.resume(.tooManyJobs) }) else { return nil }
    _ = state.withLock { $0.pauses.remove(.tooManyJobs) }
    pause(.unflushed)
    guard flusher.hasRoom(else: { [weak self] in self?.resume(.unflushed) }) else { return nil }
    _ = state.withLock { $0.pauses.remove(.unflushed) }
    return state.withLock { state in
      let batch = state.names.popFirst(Self.batchSize)
      return batch.isEmpty ? nil : batch
    }
  }
}
