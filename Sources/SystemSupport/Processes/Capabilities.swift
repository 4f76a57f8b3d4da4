import CLinux

/// What a process may do beyond its user's rights, capabilities(7).
package enum Capabilities {
  /// Keeps programs that are started from now on from inheriting what the service manager has given to this process.
  ///
  /// Holds for the calling thread and those that it starts: call it before there are others.
  package static func keepFromChildren() throws(SystemError) {
    try systemCall("prctl", "PR_CAP_AMBIENT") { linux_clear_ambient_capabilities() }
  }

  /// Takes all of them from this thread, and from those that it starts, for good; a root process stays root by number.
  ///
  /// Call it before there are other threads.
  package static func drop() throws(SystemError) {
    try systemCall("capset") { linux_drop_capabilities() }
  }
}
