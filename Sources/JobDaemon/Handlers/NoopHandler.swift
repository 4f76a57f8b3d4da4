package import JSONText
package import Jobs

/// The type `noop`: does nothing; for tests, benches and monitoring.
///
/// It awaits nothing, so it prefers no executor: a task that does is queued anew when it is run at once (Documentation/Design/0029).
package struct NoopHandler: JobHandler {
  package static let type = "noop"
  package var type: String { Self.type }
  package var hasOutsideEffects: Bool { false }
  package var argumentSchema: JSONValue? { ArgumentSchema.object([:]) }

  package init() {}

  package func validate(_ arguments: JSONValue) throws(JobFileError) {
    try ArgumentReader(arguments).allow([])
  }

  package nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue { .object([:]) }
}
