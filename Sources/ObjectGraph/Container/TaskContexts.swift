import Synchronization

/// The context of a task and of each of its child tasks that asks for one, for one container.
///
/// A task-local value holds it, so it is the same before and after a suspension, on whatever thread.
final class TaskContexts: Sendable {
  @TaskLocal static var current: [ObjectIdentifier: TaskContexts] = [:]

  private struct Entry {
    let generation: Int
    let context: ManagedObjectContext
  }

  /// By the task, which lives at least as long as the code in it that asks.
  private let entries = Mutex<[Int: Entry]>([:])

  func context(generation: Int, _ make: () -> ManagedObjectContext) -> ManagedObjectContext {
    let task = withUnsafeCurrentTask { $0?.hashValue ?? 0 }
    if let entry = entries.withLock({ $0[task] }), entry.generation == generation { return entry.context }
    let made = make()
    entries.withLock { $0[task] = Entry(generation: generation, context: made) }
    return made
  }
}
