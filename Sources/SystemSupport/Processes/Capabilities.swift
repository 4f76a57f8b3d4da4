import CLinux

/// The rights of a process beyond those of its user, capabilities(7).
package enum Capabilities {
  /// Clears the ambient capabilities, so that programs started from now on inherit none from the service manager.
  ///
  /// Holds for the calling thread and those that it starts: call it before there are others.
  package static func keepFromChildren() throws(SystemError) {
    try systemCall("prctl", "PR_CAP_AMBIENT") { linux_clear_ambient_capabilities() }
  }

  /// Drops all of them for good from this thread and those it starts; a root process keeps its user ID.
  ///
  /// Call it before there are other threads.
  package static func drop() throws(SystemError) {
    try systemCall("capset") { linux_drop_capabilities() }
  }
}
