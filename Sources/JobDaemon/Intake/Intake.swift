import Configuration
import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Finds job files in `new/`, claims and admits them.
///
/// The watcher's events are hints; the scans at the start, after an overflow and after a pause are the truth. All work
/// happens on the intake's own queue, a batch of files at a time. ``IntakeState`` decides; this carries its actions out.
final class Intake: Sendable {
  /// A batch ends early with the file that brings it to so many jobs or bytes: a small file may hold very many jobs.
  static let batchJobs = 2_000
  static let batchBytes = 4 << 20

  let spool: Spool
  private let admission: Admission
  private let scheduler: Scheduler
  private let flusher: Flusher
  let refuser: Refuser
  let log: DaemonLog
  let events: DaemonEvents
  private let queue: DispatchQueue
  private let works: Coalescer
  private let rescanTimer: OneShotTimer
  let state: Mutex<IntakeState>
  let lineFiles: LineFileAdmission
  private let watch = Mutex<SpoolWatch?>(nil)
  /// The scan of `new/` that is under way; only used on the queue.
  private let scan = Mutex<DirectoryScan?>(nil)
  /// Only used on the queue.
  private let postponed = Mutex(PostponedFiles())

  init(
    spool: Spool, admission: Admission, scheduler: Scheduler, merger: Merger, flusher: Flusher, refuser: Refuser,
    log: DaemonLog, configuration: Configuration.Spool, events: DaemonEvents
  ) {
    self.spool = spool
    self.admission = admission
    self.scheduler = scheduler
    self.flusher = flusher
    self.refuser = refuser
    self.log = log
    self.events = events
    queue = DispatchQueue(label: "intake")
    works = Coalescer(queue: queue)
    rescanTimer = OneShotTimer(queue: queue)
    state = Mutex(IntakeState(configuration: configuration))
    lineFiles = LineFileAdmission(
      spool: spool, admission: admission, scheduler: scheduler, merger: merger, flusher: flusher, refuser: refuser,
      log: log, configuration: configuration, events: events, queue: queue)
  }

  /// The number of files refused since the start, and of those in `new/` that are known and not claimed.
  var fileCounts: (refused: Int, waiting: Int) { (refuser.refusedCount, state.withLock { $0.nameCount }) }

  /// The reason why submissions over the socket are refused; nil if they are not.
  var refusal: IntakeState.Pause? { state.withLock { $0.refusal } }

  func reconfigure(_ configuration: Configuration.Spool) {
    state.withLock { $0.configuration = configuration }
    lineFiles.reconfigure(configuration)
  }

  // MARK: Events

  /// Recovers the files that an earlier run left in `cur/`, then watches and scans `new/`.
  ///
  /// - Parameters:
  ///   - known: the files in `cur/` whose jobs are recovered from the store already, by name.
  ///   - replacing: those among them that may have replacements which are not made yet.
  func begin(known: [FileName: LiveFile], replacing: Set<FileName> = []) throws {
    try queue.sync { try recover(known, replacing) }
    state.withLock { $0.noteRecovered() }
    // Before the first scan: a file that is still being written then raises an event when it is closed.
    let new = try SpoolWatch(spool, queue: queue, log: log) { [weak self] events in
      self?.apply { $0.notice(events) }
    }
    watch.withLock { $0 = new }
    apply { $0.rescan() }
  }

  /// Stops claiming; returns when no claim is under way any more.
  func stop() {
    pause(.stopping)
    lineFiles.stop()
    watch.withLock { watch in
      watch?.stop()
      watch = nil
    }
    queue.sync {}
  }

  var isStopping: Bool { state.withLock { $0.pauses.contains(.stopping) } }

  /// Waits until no file is being admitted any more, after ``stop()`` and a last flush.
  func finish() async { await lineFiles.finish() }

  @discardableResult func pause(_ reason: IntakeState.Pause) -> Bool { state.withLock { $0.pause(reason) } }

  func resume(_ reason: IntakeState.Pause) { apply { $0.resume(reason) } }

  /// Notes that jobs have left the schedule.
  func noteReleased() {
    lineFiles.noteReleased()
    if state.withLock({ $0.pauses.contains(.tooManyJobs) }), !scheduler.isFull { resume(.tooManyJobs) }
  }

  /// Notes that no file of that name is in `cur/` any more.
  func noteFree(_ name: FileName) { apply { $0.noteFree(name) } }

  /// Has a file in `cur/` read again whose jobs are final, to find out whether it is released or refused.
  func noteDoubtful(_ name: FileName) { apply { $0.noteDoubtful(name) } }

  private func apply(_ event: (inout IntakeState) -> [IntakeState.Action]) {
    for action in state.withLock({ event(&$0) }) { perform(action) }
  }

  private func perform(_ action: IntakeState.Action) {
    switch action {
    case .work: works.request { [weak self] in self?.work() }
    case .lookAgain(let name, let delay):
      queue.async(after: .milliseconds(delay)) { [weak self] in self?.apply { $0.lookAgain(at: name) } }
    case .rescan(let delay):
      rescanTimer.arm(after: delay, replacing: false) { [weak self] in self?.apply { $0.rescan() } }
    case .readDoubtful: queue.async { self.readDoubtful() }
    case .logLostEvents(let reason): log.warning("the watch on new/ lost events (\(reason)); scanning")
    case .logTrouble: break
    }
  }

  // MARK: Claiming

  /// Claims batch after batch until there is nothing more, or a pause.
  private func work() {
    do {
      while true {
        if state.withLock(\.needsRoom), !hasRoom() { return }
        switch state.withLock({ $0.next() }) {
        case .scan(let isNew): readChunk(isNew: isNew)
        case .claim(let names): try claim(names)
        case .rest: return
        }
      }
    } catch {
      events.send(.fatal(.storeFailure("\(error)")))
    }
  }

  /// Returns true if more jobs may be claimed; if not, a pause begins that ends with the reason.
  private func hasRoom() -> Bool {
    if scheduler.isFull {
      pause(.tooManyJobs)
      // Checked again, as the release that ends the pause may have come before it.
      if scheduler.isFull { return false }
      state.withLock { $0.cancelPause(.tooManyJobs) }
    }
    // Paused before the check, so that the call which ends the pause can't come too early.
    pause(.unflushed)
    guard flusher.hasRoom(else: { [weak self] in self?.resume(.unflushed) }) else { return false }
    state.withLock { $0.cancelPause(.unflushed) }
    return true
  }

  private func readChunk(isNew: Bool) {
    do throws(SystemError) {
      let running: DirectoryScan? = if isNew { try DirectoryScan(spool.new) } else { scan.withLock { $0 } }
      guard let running else { return state.withLock { $0.add(scanned: [], isLast: true) } }
      let (names, isLast) = try running.chunk()
      scan.withLock { $0 = isLast ? nil : running }
      state.withLock { $0.add(scanned: names, isLast: isLast) }
    } catch {
      scan.withLock { $0 = nil }
      log.error("new/ can't be read: \(error)")
      apply { $0.endScan(isLasting: error.isLasting) }
    }
  }

  private func claim(_ names: [PendingNames.Sighted]) throws {
    let limits = state.withLock { Spool.JobFileLimits($0.configuration) }
    var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
    spool.beginBatch()
    var rest = names[...]
    while !batch.isFull, let sighted = rest.popFirst() {
      // One bad file must not keep the others from being claimed.
      do throws(SystemError) { batch.add(try claim(sighted, limits)) } catch { note(error, at: sighted.name) }
    }
    state.withLock { $0.putBack(rest) }
    if spool.drainUncertainty() {
      log.notice(
        "without CAP_LEASE a file of another user in new/ may still be being written when it is claimed; submitters should "
          + "rename it there when it is whole")
    }
    try admit(batch.candidates)
  }

  private func note(_ error: SystemError, at name: FileName) {
    let actions = state.withLock { $0.noteTrouble(name, isLasting: error.isLasting) }
    if actions.contains(.logTrouble) { log.error("the job file \(name) can't be claimed from new/: \(error)") }
    actions.forEach(perform)
  }

  private func claim(_ sighted: PendingNames.Sighted, _ limits: Spool.JobFileLimits) throws(SystemError)
    -> AdmissionCandidate?
  {
    let name = sighted.name
    switch try spool.claim(name, limits: limits, as: sighted.sighting) {
    case .nothing: break
    case .unfinished:
      apply { $0.noteUnfinished(name) }
      return nil
    case .namesakeAtWork:
      state.withLock { $0.block(name) }
      // It may have been released in between.
      if try !spool.current.contains(name) { noteFree(name) }
      return nil
    case .refused(let refusal): refuser.refuse(name, because: refusal.reason)
    case .claimed(let file) where name.isOfLines: lineFiles.add(LineFileAdmission.Order(file: file))
    case .claimed(let file): return parse(file)
    }
    state.withLock { $0.forget(name) }
    return nil
  }

  func parse(_ file: ClaimedFile, isTakenUp: Bool = false) -> AdmissionCandidate? {
    do {
      let contents = try admission.parse(file)
      try spool.quota.add(file, jobs: contents.jobs.count, isTakenUp: isTakenUp)
      return AdmissionCandidate(file: file, contents: contents, isTakenUp: isTakenUp)
    } catch {
      refuser.refuse(file.name, because: (error as? SpoolQuota.Refusal)?.reason ?? "\(error)")
      return nil
    }
  }

  // MARK: Admitting

  /// Admits files that lie in `cur/`. While the store has no room they are kept and tried again, before any others.
  func admit(_ candidates: [AdmissionCandidate]) throws {
    if candidates.isEmpty { return }
    var rest = candidates
    do {
      while !rest.isEmpty {
        let round = rest.nextRound
        var admitted: [AdmittedFile] = []
        for (candidate, result) in zip(round, try admission.admit(Array(round))) {
          switch result {
          case .success(let one): admitted.append(one)
          case .failure(let refusal): refuser.refuse(candidate.file.name, because: refusal.reason)
          }
        }
        events.send(.admitted(admitted))
        for case let live? in round.map(\.live) { events.send(.allAdmitted(live)) }
        rest.removeFirst(round.count)
      }
    } catch  where LineFileAdmission.willPass(error) {
      admitLater(rest, because: error)
    }
  }

  private func admitLater(_ candidates: [AdmissionCandidate], because error: any Error) {
    pause((error as? StoreError)?.code == .full ? .admissionFull : .admissionBusy)
    let steps = postponed.withLock { $0.add(candidates, because: "\(error)") }
    if steps.tells {
      log.error("no jobs are admitted until the store can be written again: \(error)", as: .storeUnwritable)
    }
    if steps.triesAgain { queue.async(after: IntakeState.retryDelay) { [weak self] in self?.admitPostponed() } }
  }

  private func admitPostponed() {
    // The next start finds them.
    if isStopping { return }
    do {
      for pause in [IntakeState.Pause.admissionFull, .admissionBusy] { resume(pause) }
      try admit(postponed.withLock { $0.removeAll() })
      if postponed.withLock({ $0.endTrouble() }) { log.notice("the job files that had to wait are admitted") }
    } catch {
      events.send(.fatal(.storeFailure("\(error)")))
    }
  }

  /// Admits a job file that came over the socket, or is the daemon's own; it is durable in `cur/` before this returns.
  ///
  /// - Parameter name: the file's name in `cur/`; nil for a new one.
  /// - Returns: the file, with its jobs in their order.
  /// - Throws: why it is not accepted; ``UnansweredAdmission`` if it stays, and is admitted once the database answers.
  func accept(_ data: Data, as name: FileName? = nil, submitter: UInt32) throws -> [AdmittedFile] {
    let name = name ?? Submitter.fileName(for: submitter)
    let draft = ClaimedFile(name: name, data: data, submitter: submitter)
    let contents = try admission.parse(draft)
    try spool.quota.add(draft, jobs: contents.jobs.count)
    let file = try spool.store(data, as: name, submitter: submitter)
    return try queue.sync { try admit(accepted: AdmissionCandidate(file: file, contents: contents)) }
  }

  private func admit(accepted candidate: AdmissionCandidate) throws -> [AdmittedFile] {
    do {
      if isStopping { throw LineFileAdmission.Stopped() }
      let admitted = try admission.admit([candidate]).map { try $0.get() }
      events.send(.admitted(admitted))
      return admitted
    } catch let error as UnansweredAdmission {
      // It may run already.
      admitLater([candidate], because: error)
      throw error
    } catch {
      // A file that the client is told was refused must not run at the next start.
      let name = candidate.file.name
      do { try spool.release(name) } catch let leftover {
        log.error(
          "the refused job file \(name) can't be removed from cur/, and would run at the next start: \(leftover)")
      }
      throw error
    }
  }

  /// Admits a file with one job on each line that came over the socket.
  ///
  /// - Parameters:
  ///   - name: from ``Submitter/fileName(for:tag:hasLines:)``.
  ///   - needsAll: true if the answer is to list all its jobs.
  ///   - answer: called when the jobs are on disk, or with the reason why there are none.
  func accept(
    _ lines: SpooledFile, as name: FileName, submitter: UInt32, needsAll: Bool,
    _ answer: @escaping @Sendable (Result<AdmittedLines, any Error>) -> Void
  ) throws {
    let file = try spool.store(lines, as: name, submitter: submitter)
    lineFiles.add(.init(file: file, client: .init(needsAll: needsAll, answer: answer)))
  }

  /// Does something behind the admissions under way, if there is no file in `cur/` that is still to be admitted.
  func afterAdmissions(_ work: @escaping @Sendable () -> Void) {
    queue.async { [self] in if state.withLock(\.hasAdmittedAll), lineFiles.hasAdmittedAll { work() } }
  }
}
