import JSONText
import Jobs

/// The type `noop`: does nothing; for tests, benches and monitoring.
struct NoopHandler: OwnHandler {
  let type = "noop"
  let hasOutsideEffects = false

  func validate(_ arguments: JSONValue) throws(JobFileError) {
    try ArgumentReader(arguments).allow([])
  }

  nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue { .object([:]) }
}
