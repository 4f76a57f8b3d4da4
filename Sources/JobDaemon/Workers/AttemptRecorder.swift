import Fleet
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import TextSupport

/// Records the outcomes of attempts in the jobs' objects, and finishes them in the scheduler.
///
/// Its calls stay on the worker's executor: a change of threads costs as much as a small job. Whoever records an
/// attempt has claimed its end with ``RunningJob/claimEnd()``, so that each has one end.
final class AttemptRecorder: Sendable {
  private let engine: JobEngine
  private let control: JobControl

  init(_ engine: JobEngine, _ control: JobControl) {
    self.engine = engine
    self.control = control
  }

  /// Records the end of an attempt.
  nonisolated(nonsending) func record(
    _ outcome: Result<JSONValue, any Error>, of job: RunningJob, _ attempt: CurrentAttempt,
    on executor: ContextExecutor
  ) async {
    switch outcome {
    case .success(let result):
      do {
        try await complete(job, attempt, result: result)
      } catch {
        await judge(error, job, attempt: attempt, on: executor)
      }
    case .failure(let error): await judge(error, job, attempt: attempt, on: executor)
    }
  }

  /// Records that a job could not be started.
  ///
  /// If its record can't be read, or its type has no handler, that may have changed by the next start; so nothing is
  /// written.
  nonisolated(nonsending) func recordUnstarted(_ job: RunningJob, _ error: any Error, on executor: ContextExecutor)
    async
  {
    if let failure = error as? JobFailure { return await finish(job, nil, verdict: .discard(failure), on: executor) }
    if let hold = error as? AttemptHold {
      return await finish(job, nil, verdict: .hold(hold.description), on: executor)
    }
    // The lead learns of a type that was taken away behind what it has assigned, and gives this to another host then.
    if job.run != nil, error is UnknownType { return engine.endUnrecorded(job, .interrupted) }
    engine.report(error, "a job can't be started, and is held")
    engine.endUnrecorded(job, .held)
    if error is UnknownType { engine.scheduler.change { schedule, _ in schedule.awaitingHandler.insert(job.objectID) } }
    engine.waiters.tellHeld(job.objectID)
    control.noteEnds(of: [job.objectID])
  }

  /// Saves what the handler left in its context together with the job's outcome.
  private nonisolated(nonsending) func complete(_ job: RunningJob, _ attempt: CurrentAttempt, result: JSONValue)
    async throws
  {
    let text = result.serialized()
    let (objectID, host, now) = (job.objectID, engine.membership?.spool, engine.date)
    try await attempt.execution.context.perform { context in
      let object = try context.job(with: objectID)
      object.host = host
      object.attempt = Int32(attempt.number)
      object.startedAt = attempt.started
      object.finishedAt = now
      object.result = text
      object.failure = nil
      object.cursor = nil
      object.setPendingStop(nil)
      object.currentState = .completed
      AttemptRecorder.keepLog(of: attempt, "completed", nil, at: now, in: object, context: context)
      try context.save()
    }
    engine.hostFaults.noteWork(of: attempt.specification.type, by: objectID)
    engine.shortages.clear(objectID)
    let lost = engine.scheduler.end(job, .succeeded)
    let ended = attempt.ended(at: now, result: text)
    engine.meter.noteAttempt(of: attempt.specification.type, taking: ended.seconds, isRetried: false)
    let finished = FinishedJob(
      objectID: objectID, id: attempt.execution.jobID, type: attempt.specification.type, state: .completed,
      failure: nil, batch: job.isOfOtherSpool ? nil : attempt.specification.batch,
      attempt: ended, file: job.file)
    engine.merger.merge(finished: [finished])
    control.cancel(lost, because: finished)
  }

  private nonisolated(nonsending) func judge(
    _ error: any Error, _ job: RunningJob, attempt: CurrentAttempt, on executor: ContextExecutor
  ) async {
    if engine.endsWith(error) {
      // The handler's own writes may or may not be on disk; the next start finds out.
      engine.endUnrecorded(job, .interrupted)
      return
    }
    var error = error
    var circumstances = Verdict.Circumstances(
      stop: job.stop, attempt: attempt.number, maxAttempts: attempt.specification.maxAttempts ?? 1,
      backoff: engine.policy.backoff(of: attempt.specification, attempt.handler),
      isShared: engine.membership != nil, random: .random(in: 0..<1))
    if job.stop == nil {
      // Before the job can be started again.
      let type = attempt.specification.type
      if let fault = error as? HostFault {
        let isOfHost = engine.hostFaults.note(fault, of: type, by: job.objectID)
        if !isOfHost { error = JobFailure(fault.description, isPermanent: false) }
      } else {
        engine.hostFaults.noteWork(of: type, by: job.objectID)
      }
    }
    let objectID = job.objectID
    let context = ManagedObjectContext(parent: engine.main, name: "end", executor: executor)
    do {
      circumstances.crashes = try await context.perform { Int(try $0.job(with: objectID).crashes) }
    } catch {
      engine.report(error, "the record of a job can't be read")
    }
    let verdict = Verdict(error, circumstances)
    // Of a fault for which the type is held people are told already.
    if case .retry(let delay, let failure) = verdict, failure.isShortage, !(error is HostFault) {
      engine.shortages.note(failure, of: objectID, retriedAfter: delay)
    } else {
      engine.shortages.clear(objectID)
    }
    await finish(job, attempt, verdict: verdict, on: executor)
  }

  /// Ends an attempt that did not succeed: the handler's changes are dropped with its context.
  nonisolated(nonsending) func finish(
    _ job: RunningJob, _ attempt: CurrentAttempt?, verdict: Verdict, on executor: ContextExecutor
  ) async {
    if case .interrupt = verdict { return await interrupt(job) }
    let finished: FinishedJob
    do {
      if let attempt, isToBeReverted(verdict) {
        let (event, reason) = (verdict.event, verdict.failure?.message)
        try await Reversion(engine: engine).run(job.objectID, by: attempt.handler, on: executor) { record in
          record.attempt = Int32(attempt.number)
          if event != .held { record.setPendingStop(event, reason) }
        }
      }
      finished = try await save(verdict, job, attempt: attempt, on: executor)
    } catch let error as StoreError where error.isTransient {
      // A new record may need disk space; the worker waits with its job for that.
      if await engine.flusher.waitUntilWritable() { return await finish(job, attempt, verdict: verdict, on: executor) }
      return await interrupt(job)
    } catch {
      // Nothing is acknowledged: the file stays in cur/, and the next start recovers the job.
      engine.report(error, "the end of an attempt can't be recorded, so that the next start runs the job again")
      engine.endUnrecorded(job, .held)
      engine.waiters.tellHeld(job.objectID)
      control.noteEnds(of: [job.objectID])
      return
    }
    if let attempt {
      engine.meter.noteAttempt(
        of: attempt.specification.type, taking: attempt.ended(at: engine.date).seconds,
        isRetried: finished.state == .retryable)
    }
    // One that is final is told of when it is on disk.
    if let attempt, !finished.state.isFinal { engine.jobLog.note(attempt, verdict, at: engine.date) }
    let delay: Duration = if case .retry(let delay, _) = verdict { delay } else { .zero }
    // One that another host may run next is not held here.
    let goesOn = if case .giveWay = verdict { engine.membership != nil } else { false }
    let lost = engine.scheduler.end(job, goesOn ? .interrupted : verdict.event, delay: delay)
    engine.merger.merge(finished: finished.state.isFinal ? [finished] : [])
    if finished.state == .held && !goesOn { engine.waiters.tellHeld(job.objectID) }
    control.cancel(lost, because: finished)
    control.noteEnds(of: [job.objectID])
  }

  /// Ends an attempt that is cut short with the daemon: another run begins where its last checkpoint was.
  private nonisolated(nonsending) func interrupt(_ job: RunningJob) async {
    if job.run != nil {
      // Another host may go on at once, from what is on disk then.
      await engine.merger.mergeAndWait()
      guard await engine.flusher.flush() else {
        // It is given to others when this host leaves, or is found dead; what was not written by then never is.
        _ = engine.scheduler.end(job, .interrupted)
        return
      }
    }
    engine.endUnrecorded(job, .interrupted)
  }

  /// True if nothing may be left of the job: the lead of a fleet replaces one that has ended so at once.
  private func isToBeReverted(_ verdict: Verdict) -> Bool {
    switch verdict {
    case .cancel, .discard: true
    case .giveWay: engine.membership != nil
    case .retry, .quarantine, .hold, .interrupt, .putBack: false
    }
  }

  private nonisolated(nonsending) func save(
    _ verdict: Verdict, _ job: RunningJob, attempt: CurrentAttempt?, on executor: ContextExecutor
  ) async throws -> FinishedJob {
    let context = ManagedObjectContext(parent: engine.main, name: "end", executor: executor)
    let (objectID, host, now) = (job.objectID, engine.membership?.spool, engine.date)
    let isOfFleet = engine.membership != nil
    // In a fleet one that did not begin is on record as well.
    let number = attempt?.number ?? job.run?.attempt
    return try await context.perform { context in
      let object = try context.job(with: objectID)
      if let number {
        object.attempt = Int32(number)
        object.host = host
      }
      object.failure = verdict.failure?.message.storable ?? object.failure
      let earlier = (event: object.pendingStop, reason: object.stopReason)
      object.setPendingStop(nil)
      switch verdict {
      case .retry(let delay, let failure):
        object.currentState = .retryable
        object.dueAt = now + delay / .seconds(1)
        if failure.crash != nil { object.crashes += 1 }
        if failure.isShortage { object.maxAttempts += 1 }
      case .discard: object.currentState = .discarded
      case .quarantine:
        object.currentState = .quarantined
        object.crashes += 1
      case .cancel: object.currentState = .cancelled
      case .hold, .interrupt:
        object.currentState = .held
        // The attempt was cut short through no fault of its own.
        if number != nil { object.maxAttempts += 1 }
      case .giveWay where isOfFleet:
        // The lead learns from it that the attempt has ended. Whoever has held it before does so still.
        let stop = object.currentState == .held ? earlier : (.held, JobReplacement.reason)
        object.setPendingStop(stop.event, stop.reason)
        object.currentState = .held
        object.maxAttempts += 1
        object.cursor = nil
      case .giveWay:
        // Unless the replacement comes first, the next start runs it.
        object.currentState = .available
        object.maxAttempts += 1
      case .putBack:
        object.currentState = .available
        object.attempt -= 1
      }
      let state = object.currentState
      if state.isFinal { object.finishedAt = now }
      if let attempt, state != .available {
        AttemptRecorder.keepLog(
          of: attempt, state.rawValue, verdict.failure, at: now, in: object, context: context)
      }
      try context.save()
      return FinishedJob(
        objectID: objectID, id: object.id, type: object.type, state: state, failure: object.failure,
        batch: job.isOfOtherSpool ? nil : object.batch, attempt: attempt?.ended(at: now), file: job.file)
    }
  }

  /// Keeps an attempt's failure and its log, if it has either.
  private static func keepLog(
    of attempt: CurrentAttempt, _ outcome: String, _ failure: JobFailure?, at now: Date, in job: Job,
    context: isolated ManagedObjectContext
  ) {
    let log = attempt.execution.log
    if failure == nil && log == nil { return }
    let record = Attempt(context: context)
    record.job = job
    record.number = Int32(attempt.number)
    record.outcome = outcome
    record.startedAt = attempt.started
    record.finishedAt = now
    record.failure = failure?.message.storable
    record.evidence = failure?.crash.map { JSONValue($0).serialized() }
    record.log = log?.storable
  }
}

extension JSONValue {
  /// The evidence as an attempt's record keeps it, and as the status API shows it.
  init(_ evidence: CrashEvidence) {
    self = .object([
      "signal": evidence.signal.map { .integer(Int64($0)) } ?? .null,
      "exitStatus": evidence.exitStatus.map { .integer(Int64($0)) } ?? .null,
      "userSeconds": .number(evidence.userSeconds), "systemSeconds": .number(evidence.systemSeconds),
      "maximumResidentBytes": .integer(Int64(evidence.maximumResidentBytes)),
      "logTail": .string(evidence.logTail),
    ])
  }
}

/// A job of a type without a handler; a later version, or a handler's file, may bring one.
struct UnknownType: Error, CustomStringConvertible {
  let name: String

  var description: String { "there is no handler for the type \"\(name)\"; it is held until there is one" }
}
