import Dispatch
import Foundation
import Synchronization

/// The serial executor of one or several contexts: a dispatch queue, or the thread that made it.
///
/// All objects of a context may be used on its executor only. Contexts that share an executor need no hop between them.
public final class ContextExecutor: SerialExecutor {
  /// The queue's label, which shows in logs, statement logs and debuggers.
  public let label: String
  private let place: Place
  private let occupation: OccupationRecorder?
  private let tasks: (any TaskExecutor)?
  /// The executor that work which runs here is waiting for.
  private let awaited = Mutex<ContextExecutor?>(nil)
  /// Tells the main queue, where others put work too. Queues of our own run nothing but what goes through here, so they
  /// need no mark, which would wake one of Dispatch's shared threads whenever such a queue goes away.
  private static let mainKey = DispatchSpecificKey<Bool>()

  private enum Place {
    case queue(DispatchQueue)
    case thread(pthread_t)
  }

  /// An executor with a queue of its own.
  ///
  /// - Parameters:
  ///   - label: the queue's label.
  ///   - occupation: where to count how long each piece of work occupied the executor.
  ///   - tasks: the executor that the tasks prefer which mostly run here; nil if they prefer none. It makes a difference
  ///     in speed only: at each `await`, a task that prefers another executor is queued anew, even to go on right here.
  public init(label: String, occupation: OccupationRecorder? = nil, tasks: (any TaskExecutor)? = nil) {
    self.label = label
    self.occupation = occupation
    self.tasks = tasks
    place = .queue(DispatchQueue(label: label))
  }

  private init(main: DispatchQueue) {
    label = "main"
    occupation = nil
    tasks = nil
    place = .queue(main)
    main.setSpecific(key: Self.mainKey, value: true)
  }

  private init(label: String, thread: pthread_t) {
    self.label = label
    occupation = nil
    tasks = nil
    place = .thread(thread)
  }

  /// The executor of the main queue.
  public static let main = ContextExecutor(main: .main)

  /// An executor that is the calling thread: its contexts need no hop there, and trap when used anywhere else.
  ///
  /// For synchronous code on a thread of its own: nothing can be queued here, so such a context can't be awaited from
  /// elsewhere, nor merge by itself.
  public static func confined(label: String) -> ContextExecutor {
    ContextExecutor(label: label, thread: pthread_self())
  }

  /// Whether this executor is a thread and not a queue.
  var isConfined: Bool { if case .thread = place { true } else { false } }

  /// Whether the caller runs on this executor.
  public var isCurrent: Bool {
    switch place {
    case .queue: RunningExecutor.current.map { $0 == address } ?? (Self.isOnMainQueue && self === Self.main)
    case .thread(let thread): pthread_equal(thread, pthread_self()) != 0
    }
  }

  /// Runs a task's next piece of work here; called by Swift's runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    switch place {
    case .queue(let queue):
      queue.async { self.timed { self.run(job) } }
    case .thread:
      precondition(isCurrent, refusal)
      job.runSynchronously(on: asUnownedSerialExecutor())
    }
  }

  /// Runs a piece of work. The runtime takes a task to be where it belongs only if it finds both executors.
  private func run(_ job: UnownedJob) {
    if let tasks {
      job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: tasks.asUnownedTaskExecutor())
    } else {
      job.runSynchronously(on: asUnownedSerialExecutor())
    }
  }

  /// Traps, with the executor's name, if the caller runs elsewhere; called by Swift's runtime.
  public func checkIsolated() {
    precondition(
      isCurrent,
      isConfined
        ? refusal
        : "the context of the executor \"\(label)\" and its objects may be used there only; use perform or performAndWait"
    )
  }

  private var refusal: String { "the executor \"\(label)\" is the thread that made it; use its context there only" }

  /// Runs work after what is queued already; returns at once.
  func async(_ work: @escaping @Sendable () -> Void) {
    switch place {
    case .queue(let queue): queue.async { self.timed(work) }
    case .thread:
      precondition(isCurrent, refusal)
      work()
    }
  }

  /// Whether the calling thread runs here, or will go on here once what it does now has returned.
  ///
  /// Nothing else can run here meanwhile.
  var isOnCallersStack: Bool { RunningExecutor.contains(address) || isCurrent }

  /// Runs work after what is queued already and waits for it; at once if the caller runs here, or if the work that
  /// occupies this executor waits for the caller on the same thread.
  func sync<Result>(_ work: () throws -> Result) rethrows -> Result {
    if isCurrent { return try work() }
    if RunningExecutor.contains(address) { return try RunningExecutor.run(address, work) }
    guard case .queue(let queue) = place else { preconditionFailure(refusal) }
    let waiter = Self.current
    waiter?.awaited.withLock { $0 = self }
    defer { waiter?.awaited.withLock { $0 = nil } }
    return try queue.sync { try timed(work) }
  }

  /// Queues work and waits until it is done, but not longer than that; after that it still runs when its turn comes.
  ///
  /// - Returns: whether it was done in time; false at once if this executor is waiting for the caller.
  func sync(timeout: Duration, _ work: @escaping @Sendable () -> Void) -> Bool {
    if isCurrent {
      work()
      return true
    }
    let done = DispatchSemaphore(value: 0)
    async {
      work()
      done.signal()
    }
    if isWaitingForCaller { return false }
    let (seconds, attoseconds) = timeout.components
    return done.wait(timeout: .now() + Double(seconds) + Double(attoseconds) / 1e18) == .success
  }

  /// Whether the work that occupies this executor waits, directly or through others, for the caller's executor.
  private var isWaitingForCaller: Bool {
    let caller = Self.current
    var next = awaited.withLock { $0 }
    // Waits are few and can't form a ring that has gone unnoticed, but they change while we look.
    for _ in 0..<64 {
      guard let executor = next, let caller else { return false }
      if executor === caller { return true }
      next = executor.awaited.withLock { $0 }
    }
    return false
  }

  /// The executor whose work the calling thread does.
  private static var current: ContextExecutor? {
    // Its work keeps it alive.
    if let address = RunningExecutor.current {
      return Unmanaged<ContextExecutor>.fromOpaque(address).takeUnretainedValue()
    }
    return isOnMainQueue ? main : nil
  }

  /// Whether the caller is on the main queue, maybe as work that others put there.
  private static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainKey) == true }

  private var address: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

  private func timed<Result>(_ work: () throws -> Result) rethrows -> Result {
    guard let occupation else { return try RunningExecutor.run(address, work) }
    let start = DispatchTime.now().uptimeNanoseconds
    defer { occupation.record(DispatchTime.now().uptimeNanoseconds - start) }
    return try RunningExecutor.run(address, work)
  }
}
