import CLinux

/// Confinement of a process that handles what strangers made.
package enum OpenFilesOnly {
  /// Leaves this process memory, threads and what it has open, and takes everything else away for good.
  ///
  /// It can open, make, remove and look for no files, make no sockets, start no programs and signal nobody else: such
  /// calls fail with EPERM. Files are reached by descriptors that are there already, or come through a socket.
  ///
  /// The process must use neither Swift's concurrency nor Dispatch: libdispatch reads the state of its threads from
  /// `/proc` once a second, and ends the process if it can't.
  /// - Throws: where the kernel or the machine has no such filter.
  package static func enter() throws(SystemError) {
    try systemCall("seccomp") { linux_confine_to_open_files() }
  }
}
