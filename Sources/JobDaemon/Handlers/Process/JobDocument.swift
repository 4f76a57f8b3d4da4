import JSONText
import Jobs

/// The job as its program reads it on standard input.
struct JobDocument: Sendable {
  /// Raised when a key changes its meaning or goes; see Documentation/ProcessHandlers.md.
  static let version: Int64 = 1

  let id: String
  let type: String
  let queue: String
  let priority: Int
  let attempt: Int
  let maxAttempts: Int
  let submitter: UInt32
  let arguments: JSONValue
  let payload: String
  let cursor: String?

  /// One line of JSON.
  var bytes: [UInt8] {
    JSONValue.object([
      "version": .integer(Self.version), "id": .string(id), "type": .string(type), "queue": .string(queue),
      "priority": .integer(Int64(priority)), "attempt": .integer(Int64(attempt)),
      "maxAttempts": .integer(Int64(maxAttempts)), "submitter": .integer(Int64(submitter)), "arguments": arguments,
      "payload": .string(payload), "cursor": cursor.map(JSONValue.string) ?? .null,
    ]).serializedBytes() + [UInt8(ascii: "\n")]
  }
}

extension JobDocument {
  /// What the attempt tells.
  init(_ execution: JobExecution, cursor: String?) {
    let job = execution.specification
    self.init(
      id: execution.jobID, type: job.type, queue: job.queue, priority: job.priority, attempt: execution.attempt,
      maxAttempts: job.maxAttempts ?? execution.attempt, submitter: execution.submitter, arguments: job.arguments,
      payload: execution.payloadDirectory, cursor: cursor)
  }
}
