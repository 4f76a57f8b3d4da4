import SystemSupport

/// Files in `cur/` that are read again: those of an earlier run, and those whose jobs are final but whose outcome is in
/// doubt.
extension Intake {
  /// Recovers files that an earlier run claimed: those with their outcome in the store are released, the rest run
  /// again.
  func recover(_ known: Set<FileName>) throws {
    var names = try spool.current.entries().filter { !$0.isHidden && !known.contains($0) }
    names.sort()
    if !names.isEmpty { log.notice("recovering \(names.count) job files of an earlier run") }
    try readAgain(names)
  }

  /// Reads a file in `cur/` again whose jobs are final, to find out whether it is released or refused.
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
      try readAgain(names.filter { try spool.current.contains($0) }, areOver: true)
    } catch {
      onFatal(.storeFailure("\(error)"))
    }
  }

  private func readAgain(_ names: [FileName], areOver: Bool = false) throws {
    // Files that were claimed under an earlier limit are still admitted.
    let sizeLimit = max(state.withLock { $0.configuration.maxJobFileSize }, 64 << 20)
    var rest = names[...]
    while !rest.isEmpty {
      var batch = IntakeBatch(jobLimit: Self.batchJobs, byteLimit: Self.batchBytes)
      while !batch.isFull, batch.candidates.count < Self.batchSize, let name = rest.popFirst() {
        // It stays in cur/, where the next start finds it; one file must not keep the daemon from starting.
        do throws(SystemError) { batch.add(try retake(name, sizeLimit, areOver)) } catch {
          log.error("the job file \(name) can't be recovered from cur/ before the next start: \(error)")
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
      candidate?.isTakenUp = true
      return candidate
    case .failure(let refusal):
      refuse(name, refusal.reason)
      return nil
    }
  }
}
