import Synchronization

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
