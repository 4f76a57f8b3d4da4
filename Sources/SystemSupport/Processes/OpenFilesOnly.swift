import CLinux

/// Confinement of a process that handles untrusted files.
package enum OpenFilesOnly {
  /// Confines this process for good to memory, threads and what it has open.
  ///
  /// It can't open, create, remove or look up files, create sockets, start programs or signal others: such calls fail
  /// with EPERM. Files are reached by descriptors that are open already, or come through a socket.
  ///
  /// The process must use neither Swift's concurrency nor Dispatch: libdispatch reads the state of its threads from
  /// `/proc` once a second, and ends the process if it can't.
  /// - Throws: ``SystemError`` where the kernel or the machine has no such filter.
  package static func enter() throws(SystemError) {
    try systemCall("seccomp") { linux_confine_to_open_files() }
  }
}
