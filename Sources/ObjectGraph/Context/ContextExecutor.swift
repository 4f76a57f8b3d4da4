import Dispatch

/// The serial executor of one or several contexts: a dispatch queue.
///
/// All objects of a context may be used on its executor only. Contexts that share an executor need no hop between them.
public final class ContextExecutor: SerialExecutor {
  /// The queue's label, which shows in logs, statement logs and debuggers.
  public let label: String
  private let queue: DispatchQueue
  private let occupation: OccupationRecorder?
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  /// An executor with a queue of its own.
  ///
  /// - Parameter occupation: where to count how long each piece of work occupied the executor.
  public init(label: String, occupation: OccupationRecorder? = nil) {
    self.label = label
    self.occupation = occupation
    queue = DispatchQueue(label: label)
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  private init(main: DispatchQueue) {
    label = "main"
    occupation = nil
    queue = main
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  /// The executor of the main queue.
  public static let main = ContextExecutor(main: .main)

  /// Whether the caller runs on this executor.
  public var isCurrent: Bool {
    // The queue knows also of work that others put on the main queue; asking it takes several times as long.
    RunningExecutor.current == address
      || DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self)
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { self.timed { job.runSynchronously(on: self.asUnownedSerialExecutor()) } }
  }

  public func checkIsolated() {
    precondition(isCurrent, "this must run on the executor \"\(label)\"")
  }

  /// Runs work after what is queued already; returns at once.
  func async(_ work: @escaping @Sendable () -> Void) { queue.async { self.timed(work) } }

  /// Runs work after what is queued already and waits for it; at once if the caller runs here.
  func sync<Result>(_ work: () throws -> Result) rethrows -> Result {
    isCurrent ? try work() : try queue.sync { try timed(work) }
  }

  private var address: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

  private func timed<Result>(_ work: () throws -> Result) rethrows -> Result {
    let outer = RunningExecutor.current
    RunningExecutor.current = address
    defer { RunningExecutor.current = outer }
    guard let occupation else { return try work() }
    let start = DispatchTime.now().uptimeNanoseconds
    defer { occupation.record(DispatchTime.now().uptimeNanoseconds - start) }
    return try work()
  }
}
