import Fleet
import Jobs
import ObjectGraph

/// Reports of the daemon's parts, and what follows for the others.
extension Daemon {
  /// Handles the reports of all parts: one of them may lead to another part.
  func handle(_ event: DaemonEvent, _ onFatal: @Sendable (FatalFailure) -> Void) {
    switch event {
    case .admitted(let files): schedule(files)
    case .allAdmitted(let file):
      // Jobs of a file with replacements start behind them.
      if !control.replacements.contains(file) { scheduler.start(whole: file.name) }
      releaser.endAdmission(of: file)
    case .overdue(let id): workers.overdue(id)
    case .durable(let jobs):
      meter.noteDurable(jobs)
      jobLog.note(jobs)
      notices.tell(of: jobs) { [releaser] in releaser.release(jobs) }
      if membership == nil { retention.note(Dictionary(grouping: jobs, by: \.state).mapValues(\.count)) }
      memoryReturn.noteWork()
    case .changedElsewhere(let ids): meter.noteChange(of: ids)
    case .endedByLead(let jobs):
      meter.noteDurable(jobs)
      jobLog.note(jobs)
    case .released(let jobs):
      intake.noteReleased()
      control.noteEnds(of: jobs.lazy.map(\.objectID))
      hotFolders.note(jobs)
      uploads.note(over: jobs.lazy.map(\.objectID)) { id in scheduler.read { schedule, _ in schedule.contains(id) } }
    case .superseded(let job): releaser.releaseFile(of: job)
    case .doubtful(let name): intake.noteDoubtful(name)
    case .nameFree(let name):
      uploads.fileIsGone(name)
      intake.noteFree(name)
    case .flushed: samples.note()
    case .storeUnwritable(let error): pauseIntake(because: error)
    case .storeWritable:
      problemText.withLock { $0 = nil }
      notices.noteRoom()
      for pause in [IntakeState.Pause.storageFull, .storeBusy] { intake.resume(pause) }
      tellStatus()
      log.notice("the store can be written again", as: .storeWritable)
    case .storeFailed(let error as StoreError) where error.code == .fenced: onFatal(.fenced)
    case .storeFailed(let error):
      problemText.withLock { $0 = "\(error)" }
      intake.pause(.stopping)
      onFatal(.storeFailure("\(error)"))
    case .assigned(let runs): fleetJobs?.begin(runs)
    case .toldToEnd(let stop): engine.stop(stop)
    case .givenBack(let runs): for run in runs { membership?.end(run, .interrupted) }
    case .database(let isAway): noteDatabase(isAway: isAway)
    case .outcomesKnown: fleetJobs?.readOutcomes()
    case .leaseIsDoubtful: engine.stopExclusive()
    case .leads: retention.runSoon()
    case .endedInFleet(let counts): retention.note(counts)
    case .scheduleMissed(let missed): tell(of: missed)
    case .firingRefused(let firing, let reason): notices.tell([Notice(refused: firing, because: reason)])
    case .pausesChanged:
      schedules.notePauses()
      meter.noteChange(of: [])
      tellStatus()
    case .hostFaultsChanged, .hotFoldersChanged, .copyChanged: tellStatus()
    case .fatal(let failure): onFatal(failure)
    }
  }

  /// Schedules the jobs of admitted files.
  private func schedule(_ files: [AdmittedFile]) {
    merger.merge(finished: files.flatMap(\.finished))
    // Together, so that the most urgent of them runs first.
    let jobs = files.flatMap { $0.isScheduled || !$0.replacements.isEmpty ? [] : $0.jobs }
    control.schedule(jobs)
    if membership != nil { meter.noteChange(of: files.flatMap(\.objectIDs)) }
    for file in files where !file.replacements.isEmpty { control.replace(file) }
    control.resolveNames(of: files.flatMap(\.finished))
    // Afterwards, so that a file waits for a job that came with it.
    let ended = files.filter(\.isTakenUp).flatMap(\.objectIDs)
    notices.tellAgain(of: ended) { [releaser] in files.forEach(releaser.expect) }
  }
}
