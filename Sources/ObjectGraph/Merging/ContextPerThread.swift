import Synchronization

/// Contexts per thread of execution, all on one coordinator, whose saves merge into main.
///
/// Each thread, and each task, has a context of its own here; on main's executor that is main's context itself. A
/// context is released when its thread, or the scope of its task, ends.
///
///     let contexts = ContextPerThread(coordinator: coordinator, mainExecutor: .main)
///     Thread.detachNewThread {
///       try? contexts.current.performAndWait { context in
///         Person(context: context).firstName = "Ada"
///         try contexts.save(context)      // main has Ada soon
///       }
///     }
public final class ContextPerThread: Sendable {
  /// When main has merged a save.
  public enum Merging: Sendable {
    /// Soon after; the saving thread does not wait.
    case asynchronous
    /// Before the save returns. Not to be used while main may be waiting for the saving thread; after this time it is
    /// taken for a deadlock.
    case synchronous(timeout: Duration)
  }

  /// What all these contexts read from and save to.
  public let coordinator: PersistentStoreCoordinator
  /// The context of main's executor, the same for all who ask.
  public let mainContext: ManagedObjectContext
  /// How saves are merged unless one says otherwise.
  public let merging: Merging
  private let prefix: String
  private let count = Atomic(0)
  private let threads = ContextsByThread()
  /// Contexts of tasks that opened no scope, for as long as the tasks hold them.
  private let ofTasks = Mutex<[Int: Weak]>([:])
  @TaskLocal private static var scope: Scope?

  private struct Weak: Sendable {
    weak var context: ManagedObjectContext?
  }

  /// What a task has opened.
  private struct Scope: Sendable {
    unowned let owner: ContextPerThread
    let context: ManagedObjectContext
  }

  /// Contexts of threads, which are made when they are asked for.
  ///
  /// - Parameters:
  ///   - coordinator: what all of them read from and save to.
  ///   - mainExecutor: where main's context runs: the main queue, or a queue of its own.
  ///   - merging: when main merges a save, unless the save says otherwise.
  ///   - name: what the contexts' names begin with.
  public init(
    coordinator: PersistentStoreCoordinator, mainExecutor: ContextExecutor = .main, merging: Merging = .asynchronous,
    name: String = "thread"
  ) {
    self.coordinator = coordinator
    self.merging = merging
    prefix = name
    mainContext = ManagedObjectContext(coordinator: coordinator, name: "main", executor: mainExecutor)
  }

  /// The context of the caller: main's on main's executor, else the task's or the thread's own.
  ///
  /// A task that asks without ``withTaskContext(isolation:_:)`` gets the same context for as long as it holds it.
  public var current: ManagedObjectContext {
    if mainContext.executor.isCurrent { return mainContext }
    if let scope = Self.scope, scope.owner === self { return scope.context }
    if let task = withUnsafeCurrentTask(body: { $0?.hashValue }) { return contextOfTask(task) }
    return threads.context(makeContext)
  }

  /// Runs a task's work with a context of its own, which is ``current`` in it and is released at its end.
  public func withTaskContext<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (ManagedObjectContext) async throws -> Result
  ) async rethrows -> Result {
    let context = makeContext()
    return try await Self.$scope.withValue(Scope(owner: self, context: context)) { try await body(context) }
  }

  private func contextOfTask(_ task: Int) -> ManagedObjectContext {
    ofTasks.withLock { contexts in
      if let context = contexts[task]?.context { return context }
      let made = makeContext()
      contexts = contexts.filter { $0.value.context != nil }
      contexts[task] = Weak(context: made)
      return made
    }
  }

  private func makeContext() -> ManagedObjectContext {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    return ManagedObjectContext(coordinator: coordinator, name: "\(prefix) \(number)")
  }
}
