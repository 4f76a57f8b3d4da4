import Dispatch
import Foundation
import Glibc
import Synchronization

/// The serial executor of one or more contexts: a dispatch queue, or the thread that made it.
///
/// All objects of a context may be used on its executor only. No hop is needed between contexts that share an executor.
public final class ContextExecutor: SerialExecutor {
  /// The queue's label, which shows in logs, statement logs and debuggers.
  public let label: String
  private let place: Place
  private let occupation: OccupationRecorder?
  private let tasks: (any TaskExecutor)?
  /// The executor that the work running here is waiting for.
  private let awaited = Mutex<ContextExecutor?>(nil)
  /// Marks the main queue, which also runs other code's work. Our own queues run only work from here, so they need no
  /// mark; one would wake one of Dispatch's shared threads whenever such a queue is freed.
  private static let mainKey = DispatchSpecificKey<Bool>()

  private enum Place {
    case queue(DispatchQueue)
    case thread(pthread_t)
  }

  /// An executor with a queue of its own.
  ///
  /// - Parameters:
  ///   - label: the queue's label.
  ///   - occupation: a recorder of the time that each piece of work takes.
  ///   - tasks: the preferred task executor of the tasks that mostly run here; nil if they have none. It only matters
  ///     for speed: at each `await`, a task that prefers another executor is queued again, even to continue right here.
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

  /// Makes an executor of the calling thread: its contexts need no hop there, and trap when used anywhere else.
  ///
  /// For synchronous code on a dedicated thread: no work can be queued here, so such a context can't be awaited from
  /// elsewhere, nor merge by itself.
  public static func confined(label: String) -> ContextExecutor {
    ContextExecutor(label: label, thread: pthread_self())
  }

  /// True if this executor is a thread and not a queue.
  var isConfined: Bool { if case .thread = place { true } else { false } }

  /// True if the caller runs on this executor.
  public var isCurrent: Bool {
    switch place {
    case .queue: RunningExecutor.current.map { $0 == address } ?? (Self.isOnMainQueue && self === Self.main)
    case .thread(let thread): pthread_equal(thread, pthread_self()) != 0
    }
  }

  /// Runs a task's next job here; called by Swift's runtime.
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

  /// Runs a job. The runtime considers a task to be in its place only if it finds both executors.
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

  /// Queues work; returns at once.
  func async(_ work: @escaping @Sendable () -> Void) {
    switch place {
    case .queue(let queue): queue.async { self.timed(work) }
    case .thread:
      precondition(isCurrent, refusal)
      work()
    }
  }

  /// True if the calling thread runs here, or will continue here once its current work has returned.
  ///
  /// No other work can run here meanwhile.
  var isOnCallersStack: Bool { RunningExecutor.contains(address) || isCurrent }

  /// Queues work and waits for it; runs it at once if the caller is on this executor, or if this executor's current
  /// work waits for the caller on the same thread.
  func sync<Result>(_ work: () throws -> Result) rethrows -> Result {
    if isCurrent { return try work() }
    if RunningExecutor.contains(address) { return try RunningExecutor.run(address, work) }
    guard case .queue(let queue) = place else { preconditionFailure(refusal) }
    let waiter = Self.current
    waiter?.awaited.withLock { $0 = self }
    defer { waiter?.awaited.withLock { $0 = nil } }
    return try queue.sync { try timed(work) }
  }

  /// Queues work and waits until it is done or the timeout has passed; then it still runs when its turn comes.
  ///
  /// - Returns: true if it was done in time; false at once if this executor is waiting for the caller.
  func sync(timeout: Duration, _ work: @escaping @Sendable () -> Void) -> Bool {
    if isCurrent {
      work()
      return true
    }
    // Not a semaphore, whose time limits on Linux move with the wall clock.
    let done = DispatchGroup()
    done.enter()
    async {
      work()
      done.leave()
    }
    if isWaitingForCaller { return false }
    let (seconds, attoseconds) = timeout.components
    return done.wait(timeout: .now() + Double(seconds) + Double(attoseconds) / 1e18) == .success
  }

  /// True if this executor's current work waits, directly or through others, for the caller's executor.
  private var isWaitingForCaller: Bool {
    let caller = Self.current
    var next = awaited.withLock { $0 }
    // Waits are few and can't form an unnoticed cycle, but they change while we look.
    for _ in 0..<64 {
      guard let executor = next, let caller else { return false }
      if executor === caller { return true }
      next = executor.awaited.withLock { $0 }
    }
    return false
  }

  /// The executor whose work the calling thread is doing.
  private static var current: ContextExecutor? {
    // Its work keeps it alive.
    if let address = RunningExecutor.current {
      return Unmanaged<ContextExecutor>.fromOpaque(address).takeUnretainedValue()
    }
    return isOnMainQueue ? main : nil
  }

  /// True if the caller is on the main queue, maybe as other code's work.
  private static var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainKey) == true }

  private var address: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

  private func timed<Result>(_ work: () throws -> Result) rethrows -> Result {
    guard let occupation else { return try RunningExecutor.run(address, work) }
    let start = DispatchTime.now().uptimeNanoseconds
    defer { occupation.record(DispatchTime.now().uptimeNanoseconds - start) }
    return try RunningExecutor.run(address, work)
  }
}

/// The executors whose work the calling thread is doing, innermost first, as addresses to compare.
///
/// There are several if work waits for another executor's work that then runs on the same thread.
enum RunningExecutor {
  private struct Frame {
    let executor: UnsafeRawPointer
    let outer: UnsafePointer<Frame>?
  }

  private static let pointer = ThreadPointer()

  private static var innermost: UnsafePointer<Frame>? {
    get { UnsafePointer(pointer.value?.assumingMemoryBound(to: Frame.self)) }
    set { pointer.value = UnsafeMutableRawPointer(mutating: newValue) }
  }

  /// The executor whose work the thread is doing now.
  static var current: UnsafeRawPointer? { innermost?.pointee.executor }

  /// True if the thread does that executor's work, now or once its current work has returned.
  static func contains(_ executor: UnsafeRawPointer) -> Bool {
    var frame = innermost
    while let present = frame {
      if present.pointee.executor == executor { return true }
      frame = present.pointee.outer
    }
    return false
  }

  /// Runs work as that executor's.
  static func run<Result>(_ executor: UnsafeRawPointer, _ work: () throws -> Result) rethrows -> Result {
    let outer = innermost
    return try withUnsafePointer(to: Frame(executor: executor, outer: outer)) { frame in
      innermost = frame
      defer { innermost = outer }
      return try work()
    }
  }
}

/// A thread-local pointer, nil at first.
struct ThreadPointer {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    let code = pthread_key_create(&key, nil)
    precondition(code == 0, "there is no room for another thread-specific value")
    self.key = key
  }

  var value: UnsafeMutableRawPointer? {
    get { pthread_getspecific(key) }
    nonmutating set { pthread_setspecific(key, newValue) }
  }
}
