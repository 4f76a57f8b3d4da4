import Foundation
import JSONText
import Jobs
import ObjectGraph

/// Runs jobs one after the other, each in a private child context of main.
///
/// The worker and the contexts of its jobs share an executor, so that a small job needs no change of threads.
actor Worker {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let executor: ContextExecutor
  private let main: ManagedObjectContext
  private let handlers: [String: any JobHandler]
  private let queue: ReadyQueue
  private let merger: Merger
  private let flusher: Flusher
  private let payloadDirectory: String
  private let log: DaemonLog

  init(_ core: DaemonCore, number: Int) {
    executor = ContextExecutor(label: "worker \(number)")
    unownedExecutor = executor.asUnownedSerialExecutor()
    main = core.main
    handlers = core.handlers
    queue = core.readyQueue
    merger = core.merger
    flusher = core.flusher
    payloadDirectory = core.paths.payload
    log = core.log
  }

  /// Works until the queue is closed.
  func run() async {
    while let job = await queue.next() {
      if Task.isCancelled { return }
      await run(job)
    }
  }

  private func run(_ job: LiveJob) async {
    guard let handler = handlers[job.specification.type] else {
      return await fail(job, JobFailure("no handler for the type \"\(job.specification.type)\""))
    }
    if job.attempt >= job.maxAttempts {
      return await fail(job, JobFailure("the daemon ended in each of its \(job.attempt) attempts"))
    }
    let attempt = job.beginAttempt()
    let started = Date()
    do {
      let execution = try await begin(job, attempt, started, isRecorded: handler.hasOutsideEffects)
      job.show(execution)
      let result = try await handler.run(execution)
      try await complete(job, execution, started, result)
    } catch is CancellationError where Task.isCancelled {
      // The daemon is stopping: the file stays in the spool, and the next start takes the job up again.
      job.end(.available)
    } catch let failure as JobFailure {
      await fail(job, failure)
    } catch {
      await fail(job, JobFailure("\(error)", isPermanent: error is ValidationError))
    }
  }

  /// Makes the attempt's context; where the handler has effects elsewhere, the attempt is on record first.
  private func begin(
    _ job: LiveJob, _ attempt: Int, _ started: Date, isRecorded: Bool
  ) async throws -> JobExecution {
    let context = ManagedObjectContext(parent: main, name: "job \(job.id)", executor: executor)
    let objectID = job.objectID
    let cursor = try await context.perform { context in
      let object = try context.job(with: objectID)
      if isRecorded {
        object.currentState = .running
        object.attempt = Int32(attempt)
        object.startedAt = started
        try context.save()
      }
      return object.cursor
    }
    if isRecorded { merger.merge() }
    return execution(job, attempt, context, cursor: cursor)
  }

  private func execution(
    _ job: LiveJob, _ attempt: Int, _ context: ManagedObjectContext, cursor: String?
  ) -> JobExecution {
    JobExecution(
      jobID: job.id, arguments: job.specification.arguments, attempt: attempt, submitter: job.file.submitter,
      context: context, objectID: job.objectID, payloadDirectory: payloadDirectory, cursor: cursor,
      didCheckpoint: { [merger, flusher] in
        await merger.mergeAndWait()
        await flusher.waitForRoom()
      })
  }

  /// Saves what the handler left in its context together with the job's outcome.
  private func complete(
    _ job: LiveJob, _ execution: JobExecution, _ started: Date, _ result: JSONValue
  ) async throws {
    let text = result.serialized()
    let objectID = job.objectID
    try await execution.context.perform { context in
      let object = try context.job(with: objectID)
      object.attempt = Int32(execution.attempt)
      object.startedAt = started
      object.finishedAt = Date()
      object.result = text
      object.cursor = nil
      object.currentState = .completed
      try context.save()
    }
    job.end(.completed)
    merger.merge(finished: [job])
  }

  /// Records a failed attempt in a context of its own: what the handler did is dropped with its context.
  private func fail(_ job: LiveJob, _ failure: JobFailure) async {
    let isLast = failure.isPermanent || job.attempt >= job.maxAttempts
    var failure = failure
    do {
      if isLast { try await revert(job) }
    } catch is CancellationError {
      // The daemon is stopping: the next start goes on taking back.
      return job.end(.available)
    } catch {
      failure.message += "; what it had saved before can't all be taken back: \(error)"
    }
    do {
      try await record(job, failure, isLast: isLast)
    } catch {
      // Nothing is acknowledged: the file stays in cur/, and the next start takes the job up again.
      log.error("the failure of a job can't be recorded, so that the next start runs it again: \(error)", job: job)
      return job.end(.available)
    }
    job.end(isLast ? .discarded : .available, failure: failure.message)
    log.jobFailed(job, failure, isLast: isLast)
    if isLast {
      merger.merge(finished: [job])
    } else {
      merger.merge()
      queue.add([job])
    }
  }

  /// Takes back what checkpoints of a job that is given up have saved.
  private func revert(_ job: LiveJob) async throws {
    guard let handler = handlers[job.specification.type] else { return }
    let context = ManagedObjectContext(parent: main, name: "revert \(job.id)", executor: executor)
    let objectID = job.objectID
    let cursor = try await context.perform { try $0.job(with: objectID).cursor }
    if let cursor { try await handler.revert(execution(job, job.attempt, context, cursor: cursor)) }
  }

  private func record(_ job: LiveJob, _ failure: JobFailure, isLast: Bool) async throws {
    let context = ManagedObjectContext(parent: main, name: "failure of \(job.id)", executor: executor)
    let (objectID, attempt) = (job.objectID, job.attempt)
    try await context.perform { context in
      let object = try context.job(with: objectID)
      object.attempt = Int32(attempt)
      object.failure = failure.message
      object.currentState = isLast ? .discarded : .available
      if isLast { object.finishedAt = Date() }
      try context.save()
    }
  }
}
