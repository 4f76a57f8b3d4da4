public import JSONText
public import ObjectGraph
import Synchronization

/// One attempt at a job: what its handler is given.
public final class JobExecution: Sendable {
  /// The job's ID.
  public let jobID: String
  /// What the job file says under `arguments`.
  public let arguments: JSONValue
  /// The number of this attempt, from 1.
  public let attempt: Int
  /// The user who submitted the job.
  public let submitter: UInt32
  /// The private child context of this attempt.
  public let context: ManagedObjectContext
  /// The job's object.
  public let objectID: ManagedObjectID
  /// The folder that relative paths in arguments start from.
  public let payloadDirectory: String
  /// What an earlier attempt saved with ``checkpoint(_:)``, if there was one.
  public let cursor: String?

  private let currentProgress = Mutex(JobProgress())
  private let didCheckpoint: @Sendable () async throws -> Void

  package init(
    jobID: String, arguments: JSONValue, attempt: Int, submitter: UInt32, context: ManagedObjectContext,
    objectID: ManagedObjectID, payloadDirectory: String, cursor: String?,
    didCheckpoint: @escaping @Sendable () async throws -> Void
  ) {
    self.jobID = jobID
    self.arguments = arguments
    self.attempt = attempt
    self.submitter = submitter
    self.context = context
    self.objectID = objectID
    self.payloadDirectory = payloadDirectory
    self.cursor = cursor
    self.didCheckpoint = didCheckpoint
  }

  /// How far the attempt has come; free to set often.
  public var progress: JobProgress {
    get { currentProgress.withLock { $0 } }
    set { currentProgress.withLock { $0 = newValue } }
  }

  /// Saves what is in the context so far together with a cursor from which a later attempt can go on.
  ///
  /// Both are in one transaction. Waits while too much is unflushed, which bounds the memory of long jobs.
  /// - Throws: what the save throws, or `CancellationError`.
  public func checkpoint(_ cursor: String) async throws {
    try await context.perform { [objectID] context in
      try context.job(with: objectID).cursor = cursor
      try context.save()
    }
    try await didCheckpoint()
    try Task.checkCancellation()
  }

  /// The absolute path that a path in the arguments means.
  public func absolutePath(_ path: String) -> String {
    path.hasPrefix("/") ? path : payloadDirectory + "/" + path
  }
}

/// How far an attempt has come, in units of its choice.
public struct JobProgress: Sendable, Hashable {
  /// How many units are done.
  public var done: Int64 = 0
  /// How many units there are; nil if that is not known.
  public var total: Int64?
  /// What is counted, in the plural, such as `rows`.
  public var unit = ""
  /// What is being done, in words.
  public var message: String?

  /// How far a job has come.
  public init(done: Int64 = 0, total: Int64? = nil, unit: String = "", message: String? = nil) {
    self.done = done
    self.total = total
    self.unit = unit
    self.message = message
  }
}
