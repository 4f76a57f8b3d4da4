public import JSONText
public import ObjectGraph
import Synchronization

/// One attempt at a job: what its handler is given.
public final class JobExecution: Sendable {
  /// The job's ID.
  public let jobID: String
  /// The job as its file describes it, with the values that hold for what it leaves open.
  public let specification: JobSpecification
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
  private let currentLog = Mutex<String?>(nil)
  private let isCurrent: @Sendable () -> Bool
  private let didCheckpoint: @Sendable () async throws -> Void

  /// - Parameters:
  ///   - isCurrent: false once the attempt was given up although its handler is still at work.
  ///   - didCheckpoint: waits until there is room for more.
  package init(
    jobID: String, specification: JobSpecification, attempt: Int, submitter: UInt32, context: ManagedObjectContext,
    objectID: ManagedObjectID, payloadDirectory: String, cursor: String?,
    isCurrent: @escaping @Sendable () -> Bool = { true },
    didCheckpoint: @escaping @Sendable () async throws -> Void
  ) {
    self.jobID = jobID
    self.specification = specification
    self.attempt = attempt
    self.submitter = submitter
    self.context = context
    self.objectID = objectID
    self.payloadDirectory = payloadDirectory
    self.cursor = cursor
    self.isCurrent = isCurrent
    self.didCheckpoint = didCheckpoint
  }

  /// What the job file says under `arguments`.
  public var arguments: JSONValue { specification.arguments }

  /// What the attempt wrote, set at its end, also if it failed; nil if the handler keeps no log.
  ///
  /// It may have any characters, so it is to be escaped where it is shown.
  package var log: String? {
    get { currentLog.withLock { $0 } }
    set { currentLog.withLock { $0 = newValue } }
  }

  /// How far the attempt has come; free to set often.
  public var progress: JobProgress {
    get { currentProgress.withLock { $0 } }
    set { currentProgress.withLock { $0 = newValue } }
  }

  /// Saves what is in the context so far together with a cursor from which a later attempt can go on.
  ///
  /// Both are in one transaction. Waits while too much is unflushed, which bounds the memory of long jobs.
  /// - Throws: what the save throws, or `CancellationError`, also when the attempt was given up: nothing is saved then.
  public func checkpoint(_ cursor: String) async throws {
    try await context.perform { [objectID, isCurrent, attempt] context in
      guard isCurrent() else { throw CancellationError() }
      let job = try context.job(with: objectID)
      job.cursor = cursor
      job.attempt = Int32(attempt)
      job.currentState = .running
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
