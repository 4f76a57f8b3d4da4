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
  /// The time by which main has merged a save.
  public enum Merging: Sendable {
    /// Soon after; the saving thread does not wait.
    case asynchronous
    /// Before the save returns. Don't use it while main may be waiting for the saving thread; after the timeout, that
    /// counts as a deadlock.
    case synchronous(timeout: Duration)
  }

  /// The coordinator that all these contexts read from and save to.
  public let coordinator: PersistentStoreCoordinator
  /// The context of main's executor, the same for all callers.
  public let mainContext: ManagedObjectContext
  /// The way saves are merged, unless a save overrides it.
  public let merging: Merging
  private let prefix: String
  private let count = Atomic(0)
  private let threads = ContextsByThread()
  /// Contexts of tasks without a scope, as long as the tasks hold them.
  private let ofTasks = Mutex<[Int: Weak]>([:])
  @TaskLocal private static var scope: Scope?

  private struct Weak: Sendable {
    weak var context: ManagedObjectContext?
  }

  /// The context that a task has opened, and for which stack.
  private struct Scope: Sendable {
    unowned let owner: ContextPerThread
    let context: ManagedObjectContext
  }

  /// Makes a stack whose contexts are made when they are first used.
  ///
  /// - Parameters:
  ///   - coordinator: the coordinator that all contexts read from and save to.
  ///   - mainExecutor: the executor of main's context: the main queue, or a queue of its own.
  ///   - merging: when main merges a save, unless the save overrides it.
  ///   - name: the prefix of the contexts' names.
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
  /// A task outside of ``withTaskContext(isolation:_:)`` gets the same context for as long as it holds it.
  public var current: ManagedObjectContext {
    if mainContext.executor.isCurrent { return mainContext }
    if let scope = Self.scope, scope.owner === self { return scope.context }
    if let task = withUnsafeCurrentTask(body: { $0?.hashValue }) { return contextOfTask(task) }
    return threads.context(makeContext)
  }

  /// Runs a task's work with its own context, which is ``current`` inside and is released at the end.
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

extension ContextPerThread {
  /// Saves a context and merges what it saved into main; a save of main's context is just that.
  ///
  /// A failed save merges nothing.
  /// - Parameters:
  ///   - context: a context of this stack.
  ///   - merging: when main merges; nil for the stack's setting.
  /// - Throws: errors of ``ManagedObjectContext/save()``; ``MergeWouldDeadlock`` if main does not merge in time, in
  ///   which case the save itself is done.
  public func save(_ context: isolated ManagedObjectContext, merging: Merging? = nil) throws {
    if context === mainContext { return try context.save() }
    guard let save = try context.saveReporting() else { return }
    let main = mainContext
    switch merging ?? self.merging {
    case .asynchronous: main.mergeSoon(save)
    case .synchronous(let timeout):
      let isDone = main.executor.sync(timeout: timeout) {
        main.assumeIsolated { $0.mergeChanges(fromContextDidSave: save) }
      }
      if !isDone { throw MergeWouldDeadlock(contextName: context.name, mainName: main.name) }
    }
  }
}

/// The error of a synchronous merge that timed out because main waits for the saving thread.
///
/// The save is done, and main merges it later.
public struct MergeWouldDeadlock: Error, Sendable, CustomStringConvertible {
  /// The context that saved.
  public let contextName: String
  /// The context that was to merge.
  public let mainName: String

  /// The two contexts, and what to do.
  public var description: String {
    "\"\(contextName)\" has saved, but waiting for \"\(mainName)\" to merge would be a deadlock: it seems to wait for"
      + " the saving thread; merge asynchronously, or don't wait there"
  }
}
