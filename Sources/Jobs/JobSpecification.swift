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
  /// How often the job may be started; nil for the configured number.
  public var maxAttempts: Int?
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
  }
}
