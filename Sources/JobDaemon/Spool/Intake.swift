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
  /// Names that one step of a look through `new/` reads; they are taken in their order.
  private static let scanChunk = 4_096
  /// How many files are told of that can't be taken.
  private static let troubleLimit = 1_000
  /// How long to wait before a look for files that were still being written, when there are too many to remember.
  private static let overflowDelay = DispatchTimeInterval.seconds(5)
  /// How long to wait before jobs that the store had no room for are tried again.
  private static let retryDelay = DispatchTimeInterval.seconds(1)

  private struct State {
    var configuration: Configuration.Spool
    var watch: SpoolWatch?
    /// What is to be looked at in `new/`.
    var names = PendingNames()
    var unfinished = UnfinishedFiles()
    /// The look through `new/` that is under way.
    var scan: DirectoryScan?
    var isQueued = false
    var isRescanArmed = false
    /// Files in `cur/` whose jobs are over.
    var judged: [FileName] = []
    /// Files of which it was told that they can't be taken.
    var troubles: Set<FileName> = []
    /// Reasons for which nothing is claimed.
    var pauses: Set<Pause> = []
    var rejected = 0
  }

  enum Pause: Sendable { case storageFull, storeBusy, admissionFull, admissionBusy, tooManyJobs, unflushed, stopping }

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
    // Before the first look: what is still being written then, and is closed later, is told of.
    let watch = try SpoolWatch(spool, queue: queue, log: log) { [weak self] in self?.notice($0) }
    state.withLock { $0.watch = watch }
    rescan()
  }

  /// Stops claiming; returns when nothing is being claimed any more.
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

  /// Whether submissions over the socket are refused, and why.
  var refusal: Pause? {
    state.withLock { state in
      if state.pauses.contains(.stopping) { return .stopping }
      if !state.pauses.isDisjoint(with: [.storageFull, .admissionFull]) { return .storageFull }
      return state.pauses.isDisjoint(with: [.storeBusy, .admissionBusy]) ? nil : .storeBusy
    }
  }

  private func notice(_ events: [DirectoryEvent]) {
    state.withLock { state in
      for event in events {
        switch event {
        case .entry(let name):
          state.unfinished.forget(name)
          state.names.add(name, .event)
        case .created(let name): state.names.add(name, .created)
        case .rescan(let reason):
          log.warning("the watch on new/ lost events (\(reason)); scanning")
          state.names.scanLater()
        }
      }
      // The scan at the end of a pause finds them all; until then their number must not cost memory.
      if !state.pauses.isEmpty { state.names.forget() }
    }
    workSoon()
  }

  /// Looks through `new/` again; called when a name may be free, or a pause is over.
  func rescan() {
    state.withLock { $0.names.scanLater() }
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

  private func nextBatch() -> [PendingNames.Sighted]? {
    guard state.withLock(\.pauses.isEmpty) else { return nil }
    scanFurther()
    // Paused before the look, so that the call which ends the pause can't come too early.
    pause(.tooManyJobs)
    guard release.hasRoom(else: { [weak self] in self?.resume(.tooManyJobs) }) else { return nil }
    _ = state.withLock { $0.pauses.remove(.tooManyJobs) }
    pause(.unflushed)
    guard flusher.hasRoom(else: { [weak self] in self?.resume(.unflushed) }) else { return nil }
    _ = state.withLock { $0.pauses.remove(.unflushed) }
    return state.withLock { state in
      let batch = state.names.takeFirst(Self.batchSize)
      return batch.isEmpty ? nil : batch
    }
  }

  /// Goes on with the look through `new/`, or begins one that is wanted, unless there are names already.
  private func scanFurther() {
    while true {
      let (isWanted, running) = state.withLock { state in
        state.names.isEmpty ? (state.scan != nil || state.names.beginScan(), state.scan) : (false, nil)
      }
      guard isWanted else { return }
      do throws(SystemError) {
        let scan: DirectoryScan
        if let running { scan = running } else { scan = try DirectoryScan(spool.new) }
        let (chunk, isOver) = try Self.chunk(of: scan)
        state.withLock { state in
          state.scan = isOver ? nil : scan
          state.names.add(scanned: chunk)
        }
      } catch {
        state.withLock { $0.scan = nil }
        log.error("new/ can't be read: \(error)")
        if !error.isLasting { rescan(after: Self.retryDelay) }
      }
    }
  }

  private static func chunk(of scan: DirectoryScan) throws(SystemError) -> (names: [FileName], isLast: Bool) {
    var names: [FileName] = []
    while names.count < scanChunk {
      guard let name = try scan.next() else { return (names.sorted(), true) }
      if !name.isHidden { names.append(name) }
    }
    return (names.sorted(), false)
  }

  /// Looks through `new/` again after a while, however often this is asked for meanwhile.
  private func rescan(after delay: DispatchTimeInterval) {
    let isFirst = state.withLock { state in
      defer { state.isRescanArmed = true }
      return !state.isRescanArmed
    }
    guard isFirst else { return }
    queue.asyncAfter(deadline: .now() + delay) { [weak self] in
      self?.state.withLock { $0.isRescanArmed = false }
      self?.rescan()
    }
  }

  /// A file is still being written: its close is told of; but see ``UnfinishedFiles``.
  private func lookAgain(at name: FileName) {
    let (delay, isFull) = state.withLock { ($0.unfinished.delay(for: name), $0.unfinished.isFull) }
    if let delay {
      queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
        self?.state.withLock { $0.names.add(name, $0.unfinished.isLast(name) ? .event : .scan) }
        self?.workSoon()
      }
    } else if isFull {
      rescan(after: Self.overflowDelay)
    }
  }

  /// Tells of a file that can't be taken, once: it may be met in every look through the folder.
  private func tell(_ name: FileName, _ error: SystemError) {
    let isNews = state.withLock { $0.troubles.count < Self.troubleLimit && $0.troubles.insert(name).inserted }
    if isNews { log.error("the job file \(name) can't be taken from new/: \(error)") }
    if !error.isLasting { rescan(after: Self.retryDelay) }
  }

  private func take(_ names: [PendingNames.Sighted]) throws {
    let sizeLimit = state.withLock { $0.configuration.maxJobFileSize }
    var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
    var rest = names[...]
    while !batch.isFull, let sighted = rest.popFirst() {
      // One file that makes trouble must not keep the others from being taken.
      do throws(SystemError) { batch.add(try claim(sighted, sizeLimit)) } catch { tell(sighted.name, error) }
    }
    state.withLock { $0.names.putBack(rest) }
    if spool.takeUncertainty() {
      log.notice(
        "without CAP_LEASE it can't be told whether another user's file in new/ is still being written; submitters should "
          + "rename it there when it is whole")
    }
    try admit(batch.candidates)
  }

  private func claim(_ sighted: PendingNames.Sighted, _ sizeLimit: Int) throws(SystemError) -> Admission.Candidate? {
    let name = sighted.name
    switch try spool.claim(name, sizeLimit: sizeLimit, as: sighted.sighting) {
    case .nothing: break
    case .unfinished:
      lookAgain(at: name)
      return nil
    case .namesakeAtWork: release.whenFree(name) { [weak self] in self?.notice([.entry(name)]) }
    case .refused(let refusal): refuse(name, refusal.reason)
    case .claimed(let file): return parse(file)
    }
    state.withLock { $0.unfinished.forget(name) }
    return nil
  }

  private func parse(_ file: ClaimedFile) -> Admission.Candidate? {
    let problem: String
    do throws(JobFileError) {
      return Admission.Candidate(file: file, contents: try admission.parse(file))
    } catch {
      problem = error.description
    }
    refuse(file.name, problem)
    return nil
  }

  private func refuse(_ name: FileName, _ reason: String) {
    release.refuse(name, reason) { [weak self] in self?.noteRejected(name, reason) }
  }

  private func noteRejected(_ name: FileName, _ reason: String) {
    state.withLock { $0.rejected += 1 }
    log.warning("the job file \(name) was moved to failed/: \(reason)")
  }

  /// Admits files that lie in `cur/`. While the store has no room they are kept and tried again, before any others.
  private func admit(_ candidates: [Admission.Candidate]) throws {
    if candidates.isEmpty { return }
    var rest = candidates
    do {
      while !rest.isEmpty {
        let round = Self.nextRound(of: rest)
        take(try admission.admit(Array(round)))
        rest.removeFirst(round.count)
      }
    } catch let error as StoreError where error.code == .full || error.code == .busy {
      pause(error.code == .full ? .admissionFull : .admissionBusy)
      log.error("jobs can't be accepted until the store can be written again: \(error)")
      queue.asyncAfter(deadline: .now() + Self.retryDelay) { [weak self, rest] in self?.admitAgain(rest) }
    }
  }

  /// The files that are admitted in one save. One whose jobs wait for others is alone, so that it meets those that came
  /// before it in the schedule.
  private static func nextRound(of candidates: [Admission.Candidate]) -> ArraySlice<Admission.Candidate> {
    let simple = candidates.prefix { !$0.contents.hasCallback && !$0.contents.jobs.contains(where: \.hasDependencies) }
    return simple.isEmpty ? candidates.prefix(1) : simple
  }

  private func admitAgain(_ candidates: [Admission.Candidate]) {
    do {
      for pause in [Pause.admissionFull, .admissionBusy] { resume(pause) }
      try admit(candidates)
    } catch {
      onFatal(.storeFailure("\(error)"))
    }
  }

  private func take(_ admitted: [Admission.Admitted]) {
    // Together, so that the most urgent of them is the first to run.
    start(admitted)
    // Afterwards, so that a file waits for a job that came with it.
    admitted.forEach(release.expect)
  }

  /// Admits a file that came over the socket and lies in `cur/` already.
  func admit(_ candidate: Admission.Candidate) throws -> [ManagedObjectID] {
    try queue.sync {
      let admitted = try admission.admit([candidate])
      take(admitted)
      return admitted.flatMap(\.objectIDs)
    }
  }

  /// Files in `cur/` were claimed by an earlier run. What has its outcome in the store is released, the rest runs again.
  private func recover(_ known: Set<FileName>) throws {
    var names = try spool.current.entries().filter { !$0.isHidden && !known.contains($0) }
    names.sort()
    if !names.isEmpty { log.notice("taking up \(names.count) job files of an earlier run") }
    try takeUp(names)
  }

  /// Reads a file in `cur/` again whose jobs are over, to find out what is to become of it.
  func judge(_ name: FileName) {
    let isFirst = state.withLock { state in
      state.judged.append(name)
      return state.judged.count == 1
    }
    if isFirst { queue.async { self.judge() } }
  }

  private func judge() {
    let names = state.withLock { state in
      defer { state.judged = [] }
      return state.judged
    }
    do {
      // One that is gone was moved or removed under another's name.
      try takeUp(names.filter { try spool.current.contains($0) }, areOver: true)
    } catch {
      onFatal(.storeFailure("\(error)"))
    }
  }

  private func takeUp(_ names: [FileName], areOver: Bool = false) throws {
    // Files that were accepted under an earlier limit are still jobs.
    let sizeLimit = max(state.withLock { $0.configuration.maxJobFileSize }, 64 << 20)
    var rest = names[...]
    while !rest.isEmpty {
      var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
      while !batch.isFull, batch.candidates.count < Self.batchSize, let name = rest.popFirst() {
        // It stays in cur/, where the next start finds it; the daemon must not be kept from starting by one file.
        do throws(SystemError) { batch.add(try retake(name, sizeLimit, areOver)) } catch {
          log.error("the job file \(name) can't be taken up from cur/ before the next start: \(error)")
        }
      }
      try admit(batch.candidates)
    }
  }

  private func retake(
    _ name: FileName, _ sizeLimit: Int, _ isOver: Bool
  ) throws(SystemError) -> Admission.Candidate? {
    switch try spool.reread(name, sizeLimit: sizeLimit) {
    case .success(let file):
      var candidate = parse(file)
      candidate?.isOver = isOver
      return candidate
    case .failure(let refusal):
      refuse(name, refusal.reason)
      return nil
    }
  }
}
