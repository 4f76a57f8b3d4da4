import Foundation
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Runs jobs one after the other, each in a private child context of main.
///
/// The worker and the contexts of its jobs share an executor, so that a small job needs no change of threads.
actor Worker {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let executor: ContextExecutor
  private let engine: JobEngine
  private let recorder: AttemptRecorder

  init(_ engine: JobEngine, _ recorder: AttemptRecorder, number: Int) {
    executor = ContextExecutor(label: "worker \(number)", tasks: WorkQueues.tasks)
    unownedExecutor = executor.asUnownedSerialExecutor()
    self.engine = engine
    self.recorder = recorder
  }

  /// Works until the scheduler is closed, or until an attempt was abandoned: another worker has replaced this one then.
  ///
  /// - Returns: true if an attempt was abandoned.
  func run() async -> Bool {
    while let job = await engine.scheduler.next() {
      await run(job)
      if job.isAbandoned { return true }
      // Even small jobs must not pile up in memory while the disk is slow or full.
      await engine.flusher.waitForRoom()
    }
    return false
  }

  private func run(_ job: RunningJob) async {
    let attempt: CurrentAttempt
    do {
      attempt = try await begin(job)
    } catch let error as StoreError where error.isTransient {
      // Another host of the fleet may be able to read it.
      if job.run == nil, await engine.flusher.waitUntilWritable() { return await run(job) }
      return engine.endUnrecorded(job, .interrupted)
    } catch {
      return await recorder.recordUnstarted(job, error, on: executor)
    }
    if let failure = attempt.givenUp {
      if job.claimEnd() { await recorder.finish(job, attempt, verdict: .discard(failure), on: executor) }
      return
    }
    let outcome: Result<JSONValue, any Error>
    if await mayWork(job, attempt) {
      outcome = await work(job, attempt)
    } else {
      outcome = .failure(CancellationError())
    }
    // Whoever abandoned the attempt has recorded its end.
    guard job.claimEnd() else { return engine.jobLog.noteLateEnd(of: attempt) }
    // What an operator was told holds, even if the handler finishes nevertheless.
    let isStopped = job.stop?.event != nil
    await recorder.record(isStopped ? .failure(CancellationError()) : outcome, of: job, attempt, on: executor)
  }

  /// Waits until the attempt is on record, if the handler has outside effects; false if it is not to begin any more.
  private func mayWork(_ job: RunningJob, _ attempt: CurrentAttempt) async -> Bool {
    if attempt.handler.hasOutsideEffects, job.run == nil, await !engine.flusher.waitUntilDurable() {
      // The daemon ends, and the attempt has not begun.
      job.stop(.shutdown)
    }
    if attempt.handler.settings.isExclusive, engine.membership?.mayBegin(at: .now()) == false {
      job.stop(.doubtfulLease)
    }
    // While a disk was full, the job may have been cancelled.
    if job.stop != nil { return false }
    // Its timeout counts from here, so that no attempt is lost to a full disk.
    attempt.execution.startClock()
    engine.armTimeout(of: job, attempt.execution)
    return true
  }

  /// Runs the handler in a task of its own, which can be cancelled. It begins at once, on this worker's executor; if it
  /// ends without suspending, nothing is awaited.
  private func work(_ job: RunningJob, _ attempt: CurrentAttempt) async -> Result<JSONValue, any Error> {
    let end = AttemptEnd()
    // Other packages' handlers may block or compute for long outside their context, which Swift's own pool can bear.
    let queues = attempt.handler is any OwnHandler ? WorkQueues.tasks : nil
    let task = Task.immediate(executorPreference: queues) { [self] in
      let result = await handle(attempt)
      end.set(result)
      return try result.get()
    }
    job.attach(task)
    if let result = end.result { return result }
    return await task.result
  }

  private func handle(_ attempt: CurrentAttempt) async -> Result<JSONValue, any Error> {
    do { return .success(try await attempt.handler.run(attempt.execution)) } catch { return .failure(error) }
  }

  /// Reads the job's record; if the handler has outside effects, the attempt goes on record first.
  private func begin(_ job: RunningJob) async throws -> CurrentAttempt {
    let context = ManagedObjectContext(parent: engine.main, name: "job", executor: executor)
    let (objectID, started, run, rates) = (job.objectID, engine.date, job.run, job.rates)
    let (handlers, bounds, log) = (engine.handlers, job.isOfOtherSpool ? engine.userBounds : nil, engine.log)
    let (specification, number, submitter, cursor, givenUp) = try await context.perform { context in
      let object = try context.job(with: objectID)
      var specification = try JobSpecification(record: object)
      let number = run?.attempt ?? Int(object.attempt) + 1
      let givenUp = object.pendingStop == .gaveUp ? JobFailure(object.stopReason ?? "given up") : nil
      // One that is told to end has nothing to do but revert what others have left.
      if number > specification.maxAttempts ?? 1 && job.stop == nil && givenUp == nil {
        throw JobFailure("the daemon ended in each of its \(number - 1) attempts")
      }
      if let handler = handlers[specification.type], job.stop == nil, givenUp == nil {
        let refusal = bounds?.refusal(
          submitter: object.submitter, origin: object.spool, place: object.place,
          namesFiles: !handler.paths(in: specification.arguments).isEmpty)
        if let refusal {
          log.error("the job \(displayName(object.id)) is held: \(refusal)")
          throw AttemptHold(refusal)
        }
        try specification.resolveReferences(in: context, handler.validate)
      }
      // A fleet has both on record already.
      if run == nil, handlers[specification.type]?.hasOutsideEffects == true {
        object.currentState = .running
        object.attempt = Int32(number)
        object.startedAt = started
      }
      RateRecords.note(rates, at: started, in: context)
      // What the attempt leaves unsaved is dropped with its context.
      if context.hasChanges { try context.save() }
      return (specification, number, UInt32(exactly: object.submitter) ?? .max, object.cursor, givenUp)
    }
    guard let handler = handlers[specification.type] else { throw UnknownType(name: specification.type) }
    if !rates.isEmpty {
      do { try engine.rateRecords.noteStart(at: started) } catch {
        engine.report(error, "starts that do not count for rates any more can't be removed")
      }
    }
    if handler.hasOutsideEffects, run == nil { await engine.merger.mergeAndWait() }
    let attempt = CurrentAttempt(
      number: number, started: started, specification: specification, handler: handler,
      execution: engine.execution(
        of: specification, objectID, attempt: number, submitter: submitter, context: context, cursor: cursor,
        job: job), givenUp: givenUp)
    job.begin(attempt)
    engine.meter.noteStart(of: objectID, specification.type, after: job.waitingTime)
    engine.scheduler.begin(job, attempt: number)
    // Told to end before there was an attempt to arm the alarm for.
    if job.stop != nil { engine.scheduler.remind(of: job, after: engine.stopLimit(of: job)) }
    return attempt
  }
}

/// The result of a handler's task, if it ended without suspending.
private final class AttemptEnd: Sendable {
  private let value = Mutex<Result<JSONValue, any Error>?>(nil)

  var result: Result<JSONValue, any Error>? { value.withLock { $0 } }

  func set(_ result: Result<JSONValue, any Error>) { value.withLock { $0 = result } }
}
