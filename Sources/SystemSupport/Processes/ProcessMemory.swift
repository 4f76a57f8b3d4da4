import CLinux
import Glibc

/// The memory of this process.
package enum ProcessMemory {
  /// Returns memory that the allocator keeps to the system; takes milliseconds, so not to be called often.
  package static func giveBackUnused() { _ = malloc_trim(0) }

  /// Limits the allocator to a few arenas, instead of eight for each processor.
  ///
  /// Long-lived blocks are spread over all arenas, between freed ones, and a page of which a few bytes are used can't be
  /// returned. To be called before the first thread starts; `MALLOC_ARENA_MAX` in the environment takes precedence.
  ///
  /// - Parameter count: The number of arenas; threads that share one wait for each other.
  package static func limitArenas(to count: Int32) {
    if getenv("MALLOC_ARENA_MAX") == nil { mallopt(M_ARENA_MAX, count) }
  }
}
