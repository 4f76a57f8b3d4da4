public import Foundation
public import JSONText

/// A job as its file describes it.
public struct JobSpecification: Sendable, Hashable {
  /// The type, which chooses the handler.
  public var type: String
  /// The idempotency key, if the file gives one: the same ID is run once.
  public var id: String?
  /// The queue that the job waits in.
  public var queue: String
  /// The priority, from -100 to 100, higher first.
  public var priority: Int
  /// The moment before which the job is not run.
  public var notBefore: Date?
  /// The timeout of an attempt; nil for that of its type.
  public var timeout: Duration?
  /// The number of attempts; nil for the configured one.
  public var maxAttempts: Int?
  /// The file's own ``maxAttempts``, in a job that was read from its record.
  package var ownMaxAttempts: Int?
  /// The delay after a failed attempt; nil for that of its type.
  public var backoff: Backoff?
  /// The jobs that must be completed before it starts; if one fails, this one is cancelled.
  public var after: [String]
  /// The jobs that must be final before it starts, in whatever way.
  public var afterAny: [String]
  /// The batch that it belongs to.
  public var batch: String?
  /// The batch whose jobs must all be final before it starts.
  public var afterBatch: String?
  /// The key that no other unfinished job may have.
  public var unique: String?
  /// The limit that it shares with other jobs.
  public var limit: JobLimit?
  /// The handler's arguments, which it checks before the job is admitted.
  public var arguments: JSONValue

  /// A job to be submitted.
  public init(
    type: String, id: String? = nil, queue: String = "default", priority: Int = 0, maxAttempts: Int? = nil,
    arguments: JSONValue = .object([:])
  ) {
    self.type = type
    self.id = id
    self.queue = queue
    self.priority = priority
    self.maxAttempts = maxAttempts
    self.arguments = arguments
    after = []
    afterAny = []
  }

  /// True if it has to wait for other jobs.
  public var hasDependencies: Bool { !after.isEmpty || !afterAny.isEmpty || afterBatch != nil }
}
