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

  /// Works until the scheduler is closed, or until an attempt was taken away from it: another worker has its place then.
  ///
  /// - Returns: whether an attempt was taken away.
  func run() async -> Bool {
    while let job = await engine.scheduler.next() {
      await run(job)
      if job.isAbandoned { return true }
      // Also small jobs must not pile up in memory while the disk is slow or full.
      await engine.flusher.waitForRoom()
    }
    return false
  }

  private func run(_ job: RunningJob) async {
    let attempt: CurrentAttempt
    do {
      attempt = try await begin(job)
    } catch {
      return await recorder.recordUnstarted(job, error, executor)
    }
    let outcome: Result<JSONValue, any Error>
    if await mayWork(job, attempt) {
      outcome = await work(job, attempt)
    } else {
      outcome = .failure(CancellationError())
    }
    // Whoever took the attempt away has recorded its end.
    guard job.settle() else { return engine.log.notice("an attempt that was given up has ended late", job: attempt) }
    // What an operator was told holds, also if the handler comes to its end nevertheless.
    let isCalledOff = job.stop?.event != nil
    await recorder.record(isCalledOff ? .failure(CancellationError()) : outcome, of: job, attempt, executor)
  }

  /// Waits until the attempt is on record, if the handler has effects elsewhere; false if it is not to begin any more.
  private func mayWork(_ job: RunningJob, _ attempt: CurrentAttempt) async -> Bool {
    if attempt.handler.hasOutsideEffects, await !engine.flusher.waitUntilDurable() {
      // The daemon ends, and the attempt was not begun.
      job.stop(.shutdown)
    }
    // While a disk was full, somebody may have called the job off.
    if job.stop != nil { return false }
    // Its time counts from here, so that no attempt is lost to a disk that was full.
    attempt.execution.startClock()
    engine.armTimeout(of: job, attempt.execution)
    return true
  }

  /// Runs the handler in a task of its own, which can be cancelled. It begins at once, on this worker's executor, and
  /// what is over by then is not waited for.
  private func work(_ job: RunningJob, _ attempt: CurrentAttempt) async -> Result<JSONValue, any Error> {
    let end = AttemptEnd()
    // What others' handlers do outside of their context may block or compute for long, which Swift's own pool bears.
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

  /// Reads the job's record; where the handler has effects elsewhere, the attempt is on record first.
  private func begin(_ job: RunningJob) async throws -> CurrentAttempt {
    let context = ManagedObjectContext(parent: engine.main, name: "job", executor: executor)
    let (objectID, started) = (job.objectID, Date())
    let handlers = engine.handlers
    let (specification, number, submitter, cursor) = try await context.perform { context in
      let object = try context.job(with: objectID)
      let specification = try JobSpecification(record: object)
      let number = Int(object.attempt) + 1
      if number > specification.maxAttempts ?? 1 {
        throw JobFailure("the daemon ended in each of its \(number - 1) attempts")
      }
      if handlers[specification.type]?.hasOutsideEffects == true {
        object.currentState = .running
        object.attempt = Int32(number)
        object.startedAt = started
        try context.save()
      }
      return (specification, number, UInt32(exactly: object.submitter) ?? .max, object.cursor)
    }
    guard let handler = handlers[specification.type] else { throw UnknownType(name: specification.type) }
    if handler.hasOutsideEffects { await engine.merger.mergeAndWait() }
    let attempt = CurrentAttempt(
      number: number, started: started, specification: specification, handler: handler,
      execution: recorder.execution(
        job, specification, number, submitter: submitter, context, cursor: cursor,
        // The job has the execution; the other way round they would keep each other for ever.
        isCurrent: { [weak job] in job?.isAbandoned == false }, isToldToEnd: { [weak job] in job?.stop != nil }))
    job.begin(attempt)
    engine.scheduler.begin(job, attempt: number)
    // Told to end before there was an attempt that could be looked after.
    if job.stop != nil { engine.scheduler.remind(of: job, after: engine.stopLimit(of: job)) }
    return attempt
  }
}

/// A job of a type that no handler knows; a later version, or a handler's file, may bring it.
struct UnknownType: Error, CustomStringConvertible {
  let name: String

  var description: String { "there is no handler for the type \"\(name)\"; it is held until there is one" }
}

/// What a handler's task has come to, for whoever need not wait for it.
private final class AttemptEnd: Sendable {
  private let value = Mutex<Result<JSONValue, any Error>?>(nil)

  var result: Result<JSONValue, any Error>? { value.withLock { $0 } }

  func set(_ result: Result<JSONValue, any Error>) { value.withLock { $0 = result } }
}
