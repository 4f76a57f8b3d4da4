public import JSONText
public import ObjectGraph
import Synchronization

/// One attempt at a job, as its handler sees it.
public final class JobExecution: Sendable {
  /// The job's ID.
  public let jobID: String
  /// The job as its file describes it, with defaults for what the file leaves open.
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
  /// The cursor that an earlier attempt saved with ``checkpoint(_:)``, if there is one.
  public let cursor: String?

  let copies: InputCopies?
  let uploads: UploadedInputs?
  private let meter: Mutex<ProgressMeter>
  private let clock = Mutex(WorkClock(at: .now))
  private let attemptLog = Mutex(Log())
  private let isReverting: Bool
  private let isCurrent: @Sendable () -> Bool
  private let isToldToEnd: @Sendable () -> Bool
  private let hasLease: @Sendable () -> Bool
  private let didCheckpoint: @Sendable () async throws -> Void
  private let untilDurable: @Sendable () async -> Bool
  private let didWait: @Sendable (JobExecution) -> Void

  private struct Log {
    var captured = CapturedLog(limit: 64 * 1024)
    /// The log that the handler keeps by itself.
    var own: (@Sendable () -> String)?
  }

  /// - Parameters:
  ///   - copies: the inputs that have come with the job, if it came from another host.
  ///   - uploads: the inputs that have come with jobs over the socket.
  ///   - isReverting: true if earlier checkpoints are reverted, which leaves the job's state as it is.
  ///   - isCurrent: false once the attempt was abandoned although its handler still runs.
  ///   - isToldToEnd: true if the attempt was cancelled, held or timed out, or the daemon stops.
  ///   - hasLease: false while the attempt's host may have been fenced by its fleet, so that another may have the job.
  ///   - untilDurable: waits until everything merged is durable; false if the daemon ends first.
  ///   - didWait: called at the end of each wait that the attempt's timeout does not count.
  ///   - didCheckpoint: waits until there is room for more.
  package init(
    jobID: String, specification: JobSpecification, attempt: Int, submitter: UInt32, context: ManagedObjectContext,
    objectID: ManagedObjectID, payloadDirectory: String, cursor: String?, copies: InputCopies? = nil,
    uploads: UploadedInputs? = nil,
    isReverting: Bool = false,
    isCurrent: @escaping @Sendable () -> Bool = { true }, isToldToEnd: @escaping @Sendable () -> Bool = { false },
    hasLease: @escaping @Sendable () -> Bool = { true },
    untilDurable: @escaping @Sendable () async -> Bool = { true },
    didWait: @escaping @Sendable (JobExecution) -> Void = { _ in },
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
    self.copies = copies
    self.uploads = uploads
    meter = Mutex(ProgressMeter(isResumed: cursor != nil, at: .now))
    self.isReverting = isReverting
    self.isCurrent = isCurrent
    self.isToldToEnd = isToldToEnd
    self.hasLease = hasLease
    self.untilDurable = untilDurable
    self.didWait = didWait
    self.didCheckpoint = didCheckpoint
  }

  /// The job file's `arguments`.
  public var arguments: JSONValue { specification.arguments }

  // MARK: Log

  /// Keeps a message with the attempt, as a line or lines of its own; `bobbinctl log` shows it, also while it runs.
  ///
  /// The first and the last 32 KiB of an attempt's messages are kept. They are on disk with its outcome, so those of an
  /// attempt that a crash of the daemon cut short are gone. May be called from any thread.
  public func log(_ message: String) { attemptLog.withLock { $0.captured.append(Array((message + "\n").utf8)) } }

  /// The attempt's log so far; nil if it is empty.
  ///
  /// It may contain any characters, so it is to be escaped where it is shown.
  package var log: String? {
    let (own, captured) = attemptLog.withLock { ($0.own, $0.captured) }
    let text = own?() ?? captured.text
    return text.isEmpty ? nil : text
  }

  /// Makes a log that the handler keeps by itself that of the attempt; it is read whenever it is shown.
  package func keepLog(_ log: @escaping @Sendable () -> String) { attemptLog.withLock { $0.own = log } }

  // MARK: Progress

  /// The attempt's progress; may be set often, from any thread.
  ///
  /// The rate and the time left that `bobbinctl` shows are computed from it, so `done` should grow steadily. A smaller
  /// `done` or another `unit` begins another pass, whose rate is its own.
  public var progress: JobProgress {
    get { meter.withLock { $0.progress } }
    set { meter.withLock { $0.update(newValue, at: .now) } }
  }

  /// Changes the progress in one step, which matters if several threads do.
  public func updateProgress(_ change: (inout JobProgress) -> Void) {
    meter.withLock { meter in
      var progress = meter.progress
      change(&progress)
      meter.update(progress, at: .now)
    }
  }

  /// Counts some more units as done.
  public func advance(by count: Int64 = 1) { updateProgress { $0.done += count } }

  /// Takes a sample of the progress, and returns it with the pace.
  package func lookAtProgress() -> (progress: JobProgress, pace: ProgressPace) {
    meter.withLock { ($0.progress, $0.look(at: .now)) }
  }

  // MARK: Cancellation

  /// True if the attempt is to end: it was cancelled, held or timed out, or the daemon stops.
  ///
  /// May be read from any thread, even outside of tasks.
  public var isCancelled: Bool { isToldToEnd() || !isCurrent() || Task.isCancelled }

  /// Throws if the attempt is to end; to be called between the steps of long work.
  ///
  /// The handler should pass the error on: the daemon knows why the attempt ends, and drops the context's changes.
  /// - Throws: `CancellationError`.
  public func checkCancellation() throws(CancellationError) { if isCancelled { throw CancellationError() } }

  /// Checks that the job is still this attempt's; to be called right before an effect outside the store appears.
  ///
  /// - Throws: `CancellationError` if the attempt was abandoned; ``StoreError/Code/unavailable`` if its host may be fenced,
  ///   with which the job is tried again, here or by whoever has it now.
  package func checkOwnership() throws {
    if !isCurrent() { throw CancellationError() }
    if !hasLease() {
      throw StoreError(
        .unavailable, "nothing is published: the fleet's database does not answer, and another host may have the job")
    }
  }

  // MARK: Time

  /// Marks the beginning or the end of a wait for something that other jobs have; the timeout does not count it.
  package func setWaiting(_ waits: Bool) {
    if clock.withLock({ $0.setWaiting(waits, at: .now) }) { didWait(self) }
  }

  /// Starts the clock of the attempt's timeout.
  package func startClock() { clock.withLock { $0.restart(at: .now) } }

  /// Returns the time that the attempt may still work; nil while it waits, and its clock stands still.
  ///
  /// - Parameter timeout: the time that it may work in all.
  package func timeLeft(of timeout: Duration) -> Duration? {
    clock.withLock { $0.isWaiting ? nil : max(.zero, timeout - $0.worked(at: .now)) }
  }

  // MARK: Checkpoints

  /// Saves the context's changes so far together with a cursor from which a later attempt can continue.
  ///
  /// Both are in one transaction, so after a crash the next attempt finds both, in ``cursor`` and in the store, or
  /// neither. Waits while too much is unflushed, which bounds the memory of long jobs.
  /// - Throws: the errors of the save, or `CancellationError`, also if the attempt was abandoned: nothing is saved
  ///   then.
  public func checkpoint(_ cursor: String) async throws {
    try await context.perform { [objectID, isCurrent, isReverting, attempt] context in
      guard isCurrent() else { throw CancellationError() }
      let job = try context.job(with: objectID)
      job.cursor = cursor
      if !isReverting {
        job.attempt = Int32(attempt)
        job.currentState = .running
      }
      try context.save()
    }
    try await didCheckpoint()
    try checkCancellation()
  }

  /// Waits until everything saved so far, by this job and by others, is durable.
  ///
  /// - Throws: `CancellationError` if the daemon ends first, or the attempt is to end.
  package func waitUntilDurable() async throws {
    if !(await untilDurable()) { throw CancellationError() }
    try checkCancellation()
  }

  /// Returns the absolute path of a path in the arguments.
  public func absolutePath(_ path: String) -> String {
    path.hasPrefix("/") ? path : payloadDirectory + "/" + path
  }
}

/// The time that an attempt has worked, without its waits for something that other jobs have.
struct WorkClock {
  private var start: ContinuousClock.Instant
  private var waited: Duration = .zero
  private var waitStart: ContinuousClock.Instant?

  init(at now: ContinuousClock.Instant) { start = now }

  /// True if the attempt waits.
  var isWaiting: Bool { waitStart != nil }

  /// Starts anew, as for an attempt that has not worked yet.
  mutating func restart(at now: ContinuousClock.Instant) { self = WorkClock(at: now) }

  /// Begins or ends a wait.
  ///
  /// - Returns: true if this ended one.
  mutating func setWaiting(_ waits: Bool, at now: ContinuousClock.Instant) -> Bool {
    guard let begun = waitStart else {
      if waits { waitStart = now }
      return false
    }
    if waits { return false }
    waited += begun.duration(to: now)
    waitStart = nil
    return true
  }

  func worked(at now: ContinuousClock.Instant) -> Duration { start.duration(to: waitStart ?? now) - waited }
}
