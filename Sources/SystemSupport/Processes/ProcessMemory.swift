import CLinux

/// The memory of this process.
package enum ProcessMemory {
  /// Gives the system back what the allocator keeps for later; takes milliseconds, and must not be called often.
  package static func giveBackUnused() { _ = malloc_trim(0) }
}
