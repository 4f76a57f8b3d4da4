import Jobs
import ObjectGraph

/// The one way to revert what checkpoints of a job have saved, when the job is cancelled or discarded.
struct Reversion: Sendable {
  let engine: JobEngine

  /// True if checkpoints of the job have saved something.
  static func isNeeded(_ job: Job) -> Bool { job.cursor != nil }

  /// Has a handler delete it, chunk by chunk; without a handler it is kept. Does nothing if nothing was saved.
  ///
  /// - Parameters:
  ///   - id: the job.
  ///   - handler: the handler that the attempt began with; nil for that of the job's type.
  ///   - executor: the executor to work on; nil for one of its own.
  ///   - mark: changes the record first, in a save of its own: if the daemon ends in between, the next start continues
  ///     here and does not run the job again.
  nonisolated(nonsending) func run(
    _ id: ManagedObjectID, by handler: (any JobHandler)? = nil, on executor: ContextExecutor? = nil,
    mark: (@Sendable (Job) -> Void)? = nil
  ) async throws {
    let context = ManagedObjectContext(parent: engine.main, name: "revert", executor: executor)
    let found = try await context.perform { context -> (JobSpecification, Int, UInt32, String)? in
      let job = try context.job(with: id)
      guard let cursor = job.cursor else { return nil }
      if let mark {
        mark(job)
        try context.save()
      }
      var specification = try JobSpecification(record: job)
      try specification.resolveReferences(in: context)
      return (specification, Int(job.attempt), UInt32(exactly: job.submitter) ?? .max, cursor)
    }
    guard let (specification, attempt, submitter, cursor) = found,
      let handler = handler ?? engine.handlers[specification.type]
    else { return }
    // Its own right to record is not the attempt's, which may be abandoned, and nothing tells it to end.
    try await handler.revert(
      engine.execution(
        of: specification, id, attempt: attempt, submitter: submitter, context: context, cursor: cursor,
        isReverting: true))
  }
}
