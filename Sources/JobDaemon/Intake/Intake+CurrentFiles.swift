import JobSchedule
import SystemSupport

/// The files in `cur/`: those of an earlier run, and those whose jobs have ended meanwhile.
extension Intake {
  /// Recovers files that an earlier run claimed: those with their outcome in the store are released, the rest run again.
  func recover(_ known: [FileName: LiveFile], _ replacing: Set<FileName>) throws {
    // First of all: the next file's copy takes the place of this one's.
    let halfAdmitted = try spool.fileBeingAdmitted()
    if let halfAdmitted {
      try lineFiles.reserve()
      try readAgain([halfAdmitted], live: known)
    }
    var names = try spool.current.entries().filter { !$0.isHidden && known[$0] == nil && $0 != halfAdmitted }
    names.sort()
    if !names.isEmpty {
      log.notice("recovering \(names.count) job \(names.count == 1 ? "file" : "files") of an earlier run")
    }
    try readAgain(replacing.sorted() + names, live: known)
  }

  func readDoubtful() {
    let names = state.withLock { $0.drainDoubtful() }
    do {
      // One that is gone was moved or removed under another's name.
      try readAgain(names.filter { try spool.current.contains($0) }, areOver: true)
    } catch  where isStopping {
      // The store may be closed by now; the next start finds them.
      log.debug("files of jobs that have ended stay in cur/ until the next start: \(error)")
    } catch {
      events.send(.fatal(.storeFailure("\(error)")))
    }
  }

  private func readAgain(_ names: [FileName], areOver: Bool = false, live: [FileName: LiveFile] = [:]) throws {
    // Files that were claimed under an earlier limit are still admitted.
    let limits = Spool.JobFileLimits(document: 64 << 20, lines: .max)
    var rest = names[...]
    while !rest.isEmpty {
      var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
      while !batch.isFull, batch.candidates.count < IntakeState.batchSize, let name = rest.popFirst() {
        // It stays in cur/, where the next start finds it; one file must not keep the daemon from starting.
        var candidate: AdmissionCandidate?
        do throws(SystemError) { candidate = try readAgain(name, limits, isOver: areOver, live: live[name]) } catch {
          log.error("the job file \(name) can't be recovered from cur/ before the next start: \(error)")
        }
        batch.add(candidate)
        // Those of its jobs that are known start nevertheless.
        if candidate == nil, !name.isOfLines, let file = live[name] { events.send(.allAdmitted(file)) }
      }
      try admit(batch.candidates)
    }
  }

  private func readAgain(
    _ name: FileName, _ limits: Spool.JobFileLimits, isOver: Bool, live: LiveFile?
  ) throws(SystemError) -> AdmissionCandidate? {
    switch try spool.reread(name, limits: limits) {
    case .success(let file) where name.isOfLines:
      lineFiles.add(LineFileAdmission.Order(file: file, isTakenUp: true, isOver: isOver, live: live))
      return nil
    case .success(let file):
      var candidate = parse(file, isTakenUp: true)
      candidate?.live = live
      candidate?.isOver = isOver
      return candidate
    case .failure(let refusal):
      refuser.refuse(name, because: refusal.reason)
      return nil
    }
  }
}
