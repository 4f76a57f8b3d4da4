import Jobs
import ObjectGraph

/// Reverts what checkpoints have saved of a job that is cancelled between two attempts.
struct Reversion: Sendable {
  let engine: JobEngine

  /// True if checkpoints of the job have saved something.
  static func isNeeded(_ job: Job) -> Bool { job.cursor != nil }

  /// Has the handler delete it, chunk by chunk; a job of a type without a handler keeps it.
  func run(_ id: ManagedObjectID) async throws {
    let context = ManagedObjectContext(parent: engine.main, name: "revert")
    let (specification, attempt, submitter, cursor) = try await context.perform { context in
      let job = try context.job(with: id)
      return (
        try JobSpecification(record: job), Int(job.attempt), UInt32(exactly: job.submitter) ?? .max, job.cursor
      )
    }
    guard let cursor, let handler = engine.handlers[specification.type] else { return }
    try await handler.revert(
      JobExecution(
        jobID: specification.id ?? "", specification: specification, attempt: attempt, submitter: submitter,
        context: context, objectID: id, payloadDirectory: engine.payloadDirectory, cursor: cursor,
        isReverting: true,
        didCheckpoint: { [engine] in
          await engine.merger.mergeAndWait()
          await engine.flusher.waitForRoom()
        }))
  }
}
