import CLinux

/// What a process may do beyond its user's rights, capabilities(7).
package enum Capabilities {
  /// Keeps programs that are started from now on from inheriting what the service manager has given to this process.
  ///
  /// Holds for the calling thread and those that it starts: call it before there are others.
  package static func keepFromChildren() throws(SystemError) {
    try systemCall("prctl", "PR_CAP_AMBIENT") { linux_clear_ambient_capabilities() }
  }
}
