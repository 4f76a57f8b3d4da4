import Configuration
import Dispatch
import Foundation
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Sees job files in `new/`, claims them, and hands their jobs to the scheduler.
///
/// The watcher's events are hints; the scans at the start, after an overflow and after a pause are the truth. All work
/// happens on the intake's own queue, a batch of files at a time.
final class Intake: Sendable {
  /// Files that are admitted in one save.
  private static let batchSize = 200
  /// A batch ends early with the file that brings it to so many jobs or bytes: a small file may hold very many jobs.
  private static let batchJobs = 2_000
  private static let batchBytes = 4 << 20
  /// How long to wait before jobs that the store had no room for are tried again.
  private static let retryDelay = DispatchTimeInterval.seconds(1)

  private struct State {
    var configuration: Configuration.Spool
    var watcher: DirectoryWatcher?
    /// Names seen and not claimed yet, in order.
    var names: [FileName] = []
    var needsScan = false
    var isQueued = false
    /// Reasons for which nothing is claimed.
    var pauses: Set<Pause> = []
    var rejected = 0
  }

  enum Pause: Sendable { case storageFull, admissionFailed, tooManyJobs, unflushed, stopping }

  private let spool: Spool
  private let admission: Admission
  private let flusher: Flusher
  private let queue = DispatchQueue(label: "intake")
  private let log: DaemonLog
  private let release: Releaser
  private let start: @Sendable ([Admission.Admitted]) -> Void
  private let onFatal: @Sendable (FatalFailure) -> Void
  private let state: Mutex<State>

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

  /// How many files were refused since the start.
  var rejectedCount: Int { state.withLock { $0.rejected } }

  func reconfigure(_ configuration: Configuration.Spool) { state.withLock { $0.configuration = configuration } }

  /// Takes up what an earlier run left, then watches and scans `new/`.
  ///
  /// - Parameter known: the names of files in `cur/` whose jobs the store knows and the schedule has already.
  func begin(known: Set<FileName>) throws {
    try queue.sync { try recover(known) }
    let watcher = try DirectoryWatcher(spool.new, queue: queue, tellsCreation: true) { [weak self] in
      self?.notice($0)
    }
    state.withLock { $0.watcher = watcher }
    rescan()
  }

  /// Stops claiming; returns when nothing is being claimed any more.
  func stop() {
    pause(.stopping)
    state.withLock { state in
      state.watcher?.stop()
      state.watcher = nil
    }
    queue.sync {}
  }

  func pause(_ reason: Pause) { _ = state.withLock { $0.pauses.insert(reason) } }

  func resume(_ reason: Pause) {
    if state.withLock({ $0.pauses.remove(reason) }) != nil { rescan() }
  }

  /// Whether submissions over the socket are refused, and why.
  var refusal: Pause? {
    state.withLock { state in
      if state.pauses.contains(.stopping) { return .stopping }
      return state.pauses.isDisjoint(with: [.storageFull, .admissionFailed]) ? nil : .storageFull
    }
  }

  private func notice(_ events: [DirectoryEvent]) {
    state.withLock { state in
      for event in events {
        switch event {
        case .entry(let name): state.names.append(name)
        case .created(let name): if spool.isNoPlainFile(name) { state.names.append(name) }
        case .rescan(let reason):
          log.warning("the watch on new/ lost events (\(reason)); scanning")
          state.needsScan = true
        }
      }
      // The scan at the end of a pause finds them all; until then their number must not cost memory.
      if !state.pauses.isEmpty { state.names = [] }
    }
    workSoon()
  }

  /// Looks through `new/` again; called when a name may be free, or a pause is over.
  func rescan() {
    state.withLock { $0.needsScan = true }
    workSoon()
  }

  private func workSoon() {
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
        try take(names)
      } catch {
        onFatal(.storeFailure("\(error)"))
        return
      }
    }
  }

  private func nextBatch() -> [FileName]? {
    let mustScan: Bool? = state.withLock { state in
      if !state.pauses.isEmpty { return nil }
      defer { state.needsScan = false }
      return state.needsScan
    }
    guard let mustScan else { return nil }
    if mustScan { scan() }
    // Paused before the look, so that the call which ends the pause can't come too early.
    pause(.tooManyJobs)
    guard release.hasRoom(else: { [weak self] in self?.resume(.tooManyJobs) }) else { return nil }
    _ = state.withLock { $0.pauses.remove(.tooManyJobs) }
    pause(.unflushed)
    guard flusher.hasRoom(else: { [weak self] in self?.resume(.unflushed) }) else { return nil }
    _ = state.withLock { $0.pauses.remove(.unflushed) }
    return state.withLock { state in
      if state.names.isEmpty { return nil }
      let batch = Array(state.names.prefix(Self.batchSize))
      state.names.removeFirst(batch.count)
      return batch
    }
  }

  private func scan() {
    do {
      var names = try spool.new.entries().filter { !$0.isHidden }
      names.sort()
      state.withLock { state in
        let seen = Set(state.names)
        state.names += names.filter { !seen.contains($0) }
      }
    } catch {
      log.error("new/ can't be read: \(error)")
    }
  }

  private func take(_ names: [FileName]) throws {
    let sizeLimit = state.withLock { $0.configuration.maxJobFileSize }
    var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
    var rest = names[...]
    while !batch.isFull, let name = rest.popFirst() {
      // One file that makes trouble must not keep the others from being taken.
      do throws(SystemError) { batch.add(try claim(name, sizeLimit)) } catch {
        log.error("the job file \(name) can't be taken from new/: \(error)")
        if !error.isLasting { queue.asyncAfter(deadline: .now() + Self.retryDelay) { [weak self] in self?.rescan() } }
      }
    }
    if !rest.isEmpty { state.withLock { $0.names.insert(contentsOf: rest, at: 0) } }
    try admit(batch.candidates)
  }

  private func claim(_ name: FileName, _ sizeLimit: Int) throws(SystemError) -> Admission.Candidate? {
    switch try spool.claim(name, sizeLimit: sizeLimit) {
    case .nothing: break
    case .namesakeAtWork: release.whenFree(name) { [weak self] in self?.rescan() }
    case .refused(let reason): noteRejected(name, reason)
    case .claimed(let file): return try parse(file)
    }
    return nil
  }

  private func parse(_ file: ClaimedFile) throws(SystemError) -> Admission.Candidate? {
    let problem: String
    do throws(JobFileError) {
      return Admission.Candidate(file: file, contents: try admission.parse(file))
    } catch {
      problem = error.description
    }
    try spool.refuse(file.name, in: spool.current, reason: problem)
    noteRejected(file.name, problem)
    return nil
  }

  private func noteRejected(_ name: FileName, _ reason: String) {
    state.withLock { $0.rejected += 1 }
    log.warning("the job file \(name) was moved to failed/: \(reason)")
  }

  /// Admits files that lie in `cur/`. While the store has no room they are kept and tried again, before any others.
  private func admit(_ candidates: [Admission.Candidate]) throws {
    if candidates.isEmpty { return }
    do {
      take(try admission.admit(candidates))
    } catch let error as StoreError where error.code == .full || error.code == .busy {
      pause(.admissionFailed)
      log.error("jobs can't be accepted until the store can be written again: \(error)")
      queue.asyncAfter(deadline: .now() + Self.retryDelay) { [weak self] in self?.admitAgain(candidates) }
    }
  }

  private func admitAgain(_ candidates: [Admission.Candidate]) {
    do {
      resume(.admissionFailed)
      try admit(candidates)
    } catch {
      onFatal(.storeFailure("\(error)"))
    }
  }

  private func take(_ admitted: [Admission.Admitted]) {
    admitted.forEach(release.expect)
    // Together, so that the most urgent of them is the first to run.
    start(admitted)
  }

  /// Admits a file that came over the socket and lies in `cur/` already.
  func admit(_ candidate: Admission.Candidate) throws -> (ids: [String], objectIDs: [ManagedObjectID]) {
    try queue.sync {
      let admitted = try admission.admit([candidate])
      take(admitted)
      return (admitted.flatMap(\.ids), admitted.flatMap(\.objectIDs))
    }
  }

  /// Files in `cur/` were claimed by an earlier run. What has its outcome in the store is released, the rest runs again.
  private func recover(_ known: Set<FileName>) throws {
    let sizeLimit = max(state.withLock { $0.configuration.maxJobFileSize }, 64 << 20)
    var names = try spool.current.entries().filter { !$0.isHidden && !known.contains($0) }
    names.sort()
    if !names.isEmpty { log.notice("taking up \(names.count) job files of an earlier run") }
    var rest = names[...]
    while !rest.isEmpty {
      var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
      while !batch.isFull, batch.candidates.count < Self.batchSize, let name = rest.popFirst() {
        // It stays in cur/, where the next start finds it; the daemon must not be kept from starting by one file.
        do throws(SystemError) { batch.add(try retake(name, sizeLimit)) } catch {
          log.error("the job file \(name) can't be taken up from cur/ before the next start: \(error)")
        }
      }
      try admit(batch.candidates)
    }
  }

  private func retake(_ name: FileName, _ sizeLimit: Int) throws(SystemError) -> Admission.Candidate? {
    switch try spool.reread(name, sizeLimit: sizeLimit) {
    case .success(let file): return try parse(file)
    case .failure(let refusal):
      try spool.refuse(name, in: spool.current, reason: refusal.reason)
      noteRejected(name, refusal.reason)
      return nil
    }
  }
}
