public import Foundation
public import JSONText

/// A job as its file describes it.
public struct JobSpecification: Sendable, Hashable {
  /// Which handler does the work.
  public var type: String
  /// The idempotency key, if the file gives one: the same ID is run once.
  public var id: String?
  /// The queue that the job waits in.
  public var queue: String
  /// From -100 to 100, higher first.
  public var priority: Int
  /// The moment before which the job is not run.
  public var notBefore: Date?
  /// How long an attempt may take; nil for what holds for its type.
  public var timeout: Duration?
  /// How often the job may be started; nil for the configured number.
  public var maxAttempts: Int?
  /// What the file said of that, in a job that was read from its record.
  package var ownMaxAttempts: Int?
  /// How long it waits after an attempt that failed; nil for what holds for its type.
  public var backoff: Backoff?
  /// The jobs that must be completed before it starts; if one comes to nothing, so does this one.
  public var after: [String]
  /// The jobs that must be over before it starts, in whatever way.
  public var afterAny: [String]
  /// The batch that it belongs to.
  public var batch: String?
  /// The batch of which no job may be unfinished before it starts.
  public var afterBatch: String?
  /// What no other unfinished job may name.
  public var unique: String?
  /// What bounds it together with other jobs.
  public var limit: JobLimit?
  /// What the handler needs; checked by the handler before the job is accepted.
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

  /// Whether it has to wait for other jobs.
  public var hasDependencies: Bool { !after.isEmpty || !afterAny.isEmpty || afterBatch != nil }
}
