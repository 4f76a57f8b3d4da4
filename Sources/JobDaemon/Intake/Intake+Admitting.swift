import Dispatch
import Jobs
import ObjectGraph
import SystemSupport

/// Claiming and admitting: from a name in `new/` to jobs in the schedule.
extension Intake {
  /// The number of files that are logged as impossible to claim.
  private static let troubleLimit = 1_000

  func claim(_ names: [PendingNames.Sighted]) throws {
    let sizeLimit = state.withLock { $0.configuration.maxJobFileSize }
    var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
    spool.beginBatch()
    var rest = names[...]
    while !batch.isFull, let sighted = rest.popFirst() {
      // One bad file must not keep the others from being claimed.
      do throws(SystemError) { batch.add(try claim(sighted, sizeLimit)) } catch { tell(sighted.name, error) }
    }
    state.withLock { $0.names.putBack(rest) }
    if spool.drainUncertainty() {
      log.notice(
        "without CAP_LEASE a file of another user in new/ may still be being written when it is claimed; submitters should "
          + "rename it there when it is whole")
    }
    try admit(batch.candidates)
  }

  /// Logs a file that can't be claimed, once: every scan of the folder may meet it.
  private func tell(_ name: FileName, _ error: SystemError) {
    let isNews = state.withLock { $0.troubles.count < Self.troubleLimit && $0.troubles.insert(name).inserted }
    if isNews { log.error("the job file \(name) can't be claimed from new/: \(error)") }
    if !error.isLasting { rescan(after: Self.retryDelay) }
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

  func parse(_ file: ClaimedFile) -> Admission.Candidate? {
    let problem: String
    do throws(JobFileError) {
      return Admission.Candidate(file: file, contents: try admission.parse(file))
    } catch {
      problem = error.description
    }
    refuse(file.name, problem)
    return nil
  }

  func refuse(_ name: FileName, _ reason: String) {
    release.refuse(name, [reason]) { [weak self] in self?.noteRejected(name, reason) }
  }

  private func noteRejected(_ name: FileName, _ reason: String) {
    state.withLock { $0.rejected += 1 }
    // It may quote what a submitter has written.
    log.warning("the job file \(name) was moved to failed/: \(singleLine(reason, limit: 2_000))")
  }

  /// Admits files that lie in `cur/`. While the store has no room they are kept and tried again, before any others.
  func admit(_ candidates: [Admission.Candidate]) throws {
    if candidates.isEmpty { return }
    var rest = candidates
    do {
      while !rest.isEmpty {
        let round = Self.nextRound(of: rest)
        var admitted: [Admission.Admitted] = []
        for (candidate, result) in zip(round, try admission.admit(Array(round))) {
          switch result {
          case .success(let one): admitted.append(one)
          case .failure(let refusal): refuse(candidate.file.name, refusal.reason)
          }
        }
        schedule(admitted)
        rest.removeFirst(round.count)
      }
    } catch let error as StoreError where error.code == .full || error.code == .busy {
      pause(error.code == .full ? .admissionFull : .admissionBusy)
      log.error("no jobs are admitted until the store can be written again: \(error)")
      queue.asyncAfter(deadline: .now() + Self.retryDelay) { [weak self, rest] in self?.admitAgain(rest) }
    }
  }

  /// The files to be admitted in one save. One whose jobs wait for others is alone, so that it finds the earlier ones
  /// in the schedule.
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

  private func schedule(_ admitted: [Admission.Admitted]) {
    // Together, so that the most urgent of them runs first.
    start(admitted)
    // Afterwards, so that a file waits for a job that came with it.
    admitted.forEach(release.expect)
  }

  /// Admits a file that came over the socket and lies in `cur/` already.
  ///
  /// - Throws: ``AdmissionRefusal`` if it can't be admitted, and the store's errors; nothing is admitted then.
  func admit(_ candidate: Admission.Candidate) throws -> [ManagedObjectID] {
    try queue.sync {
      let admitted = try admission.admit([candidate]).map { try $0.get() }
      schedule(admitted)
      return admitted.flatMap(\.objectIDs)
    }
  }
}
