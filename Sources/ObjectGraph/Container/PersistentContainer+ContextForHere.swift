import CLinux
import Synchronization

extension PersistentContainer {
  /// Gives a task a context of its own, which ``contextForHere()`` returns anywhere in the block.
  ///
  /// Child tasks that call it get one each. The contexts are released when the block ends, and their unsaved changes
  /// with them, unless they are held elsewhere.
  public func withTaskContext<Result>(
    isolation: isolated (any Actor)? = #isolation, _ block: () async throws -> Result
  ) async rethrows -> Result {
    var contexts = TaskContexts.current
    contexts[ObjectIdentifier(self)] = TaskContexts()
    return try await TaskContexts.$current.withValue(contexts, operation: block)
  }

  /// Returns the context to use here: the default one on its executor, else the task's or the thread's own child of it.
  ///
  /// In a task the context is the same before and after a suspension; a thread's own is released with the thread.
  /// - Throws: ``ContainerError/Code/noTaskContext`` in a task outside of ``withTaskContext(isolation:_:)``, since a
  ///   task that moves between threads would find different contexts.
  public func contextForHere() throws -> ManagedObjectContext {
    let context = defaultContext
    if context.executor.isCurrent { return context }
    let make = { ManagedObjectContext(parent: context, name: "here") }
    if let own = TaskContexts.current[ObjectIdentifier(self)] {
      return own.context(generation: threads.currentGeneration, make)
    }
    if withUnsafeCurrentTask(body: { $0 != nil }) {
      throw ContainerError(
        .noTaskContext,
        "contextForHere() is called in a task without a context; put the task's work into withTaskContext { … }")
    }
    return threads.context(make)
  }

  /// Makes the next ``contextForHere()`` of every task and thread return a new context.
  ///
  /// Contexts that are held elsewhere keep working.
  public func clearContexts() { threads.clear() }
}

/// The contexts of a task and of its child tasks, for one container.
///
/// A task-local value holds it, so it is the same before and after a suspension, on whatever thread.
final class TaskContexts: Sendable {
  @TaskLocal static var current: [ObjectIdentifier: TaskContexts] = [:]

  private struct Entry {
    let generation: Int
    let context: ManagedObjectContext
  }

  /// By the task's hash; the task lives at least as long as its code that calls this.
  private let entries = Mutex<[Int: Entry]>([:])

  func context(generation: Int, _ make: () -> ManagedObjectContext) -> ManagedObjectContext {
    let task = withUnsafeCurrentTask { $0?.hashValue ?? 0 }
    if let entry = entries.withLock({ $0[task] }), entry.generation == generation { return entry.context }
    let made = make()
    entries.withLock { $0[task] = Entry(generation: generation, context: made) }
    return made
  }
}

/// The contexts of threads, until they are cleared; each is released with its thread.
final class ContextsByThread: Sendable {
  /// The number of times that the contexts were cleared; earlier ones are stale.
  private let generation = Mutex(0)

  var currentGeneration: Int { generation.withLock { $0 } }

  func clear() { generation.withLock { $0 += 1 } }

  /// Returns the current thread's context; makes one if there is none, or a stale one.
  func context(_ make: () -> ManagedObjectContext) -> ManagedObjectContext {
    let generation = currentGeneration
    let thread = HeldByThread.current
    if let held = thread.entries.first(where: { $0.owner === self }), held.generation == generation {
      return held.context
    }
    let made = make()
    thread.entries.removeAll { $0.owner === self || $0.owner == nil }
    thread.entries.append(HeldByThread.Entry(owner: self, generation: generation, context: made))
    return made
  }
}

/// The contexts that the current thread holds until it ends.
///
/// Foundation's thread dictionary won't do: it is freed after Dispatch has cleaned up the thread, and code that uses
/// Dispatch then makes it free its memory a second time.
private final class HeldByThread {
  struct Entry {
    weak var owner: ContextsByThread?
    let generation: Int
    let context: ManagedObjectContext
  }

  var entries: [Entry] = []
  private static let pointer = ThreadPointer()

  static var current: HeldByThread {
    if let held = pointer.value { return Unmanaged.fromOpaque(held).takeUnretainedValue() }
    let made = Unmanaged.passRetained(HeldByThread())
    pointer.value = made.toOpaque()
    let code = linux_at_thread_exit({ HeldByThread.release($0) }, made.toOpaque())
    precondition(code == 0, "no memory for a handler of the end of a thread")
    return made.takeUnretainedValue()
  }

  private static func release(_ held: UnsafeMutableRawPointer?) {
    pointer.value = nil
    if let held { Unmanaged<HeldByThread>.fromOpaque(held).release() }
  }
}
