import CLinux
import Synchronization

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
    precondition(code == 0, "there is no memory for what is to be done at the end of a thread")
    return made.takeUnretainedValue()
  }

  private static func release(_ held: UnsafeMutableRawPointer?) {
    pointer.value = nil
    if let held { Unmanaged<HeldByThread>.fromOpaque(held).release() }
  }
}
