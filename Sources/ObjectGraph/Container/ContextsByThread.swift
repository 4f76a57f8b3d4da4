import Foundation
import Synchronization

/// The contexts of the threads that have asked for one, and of tasks, until they are cleared.
///
/// A thread holds its context in its own dictionary, so that both go together.
final class ContextsByThread: Sendable {
  /// Counts how often the contexts were cleared, which makes those of before stale.
  private let generation = Mutex(0)

  var currentGeneration: Int { generation.withLock { $0 } }

  func clear() { generation.withLock { $0 += 1 } }

  /// The context of the present thread; made if there is none, or a stale one.
  func context(_ make: () -> ManagedObjectContext) -> ManagedObjectContext {
    let key = "ObjectGraph.PersistentContainer.\(ObjectIdentifier(self))"
    let generation = currentGeneration
    if let held = Thread.current.threadDictionary[key] as? Held, held.generation == generation {
      return held.context
    }
    let made = make()
    Thread.current.threadDictionary[key] = Held(generation: generation, context: made)
    return made
  }

  private final class Held {
    let generation: Int
    let context: ManagedObjectContext

    init(generation: Int, context: ManagedObjectContext) {
      self.generation = generation
      self.context = context
    }
  }
}
