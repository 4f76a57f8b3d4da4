import JSONText
import Jobs

/// The type `noop`: does nothing; for tests, benches and monitoring.
///
/// It awaits nothing, so it prefers no executor: a task that does is queued anew when it is run at once (note 29).
struct NoopHandler: JobHandler {
  let type = "noop"
  let hasOutsideEffects = false

  func validate(_ arguments: JSONValue) throws(JobFileError) {
    try ArgumentReader(arguments).allow([])
  }

  nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue { .object([:]) }
}
