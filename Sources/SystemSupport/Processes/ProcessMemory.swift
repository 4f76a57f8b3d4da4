import CLinux
import Glibc

/// The memory of this process.
package enum ProcessMemory {
  /// Gives the system back what the allocator keeps for later; takes milliseconds, and must not be called often.
  package static func giveBackUnused() { _ = malloc_trim(0) }

  /// Has the allocator take memory from a few arenas only, instead of eight for each processor.
  ///
  /// What lives long is spread over all of them, between what has been freed: pages of which a few bytes are used can't
  /// be given back. To be called before the first thread is made; `MALLOC_ARENA_MAX` in the environment goes first.
  ///
  /// - Parameter count: how many; threads that meet in one wait for each other.
  package static func limitArenas(to count: Int32) {
    if getenv("MALLOC_ARENA_MAX") == nil { mallopt(M_ARENA_MAX, count) }
  }
}
