import CLinux
import Glibc

/// The process that started this one.
package enum ParentProcess {
  /// Asks the kernel to send this process a signal when its parent ends.
  ///
  /// The signal follows the parent's *thread*; ``ChildProcess`` starts children on a thread that lasts.
  ///
  /// - Parameter expected: The parent's process ID, if the parent told it.
  /// - Throws: ``SystemError/Code/noProcess`` when the parent has ended already.
  package static func signalAtItsEnd(_ signal: Int32 = SIGKILL, expected: Int32? = nil) throws(SystemError) {
    let before = getppid()
    try systemCall("prctl", "PR_SET_PDEATHSIG") { linux_set_parent_death_signal(signal) }
    let parent = getppid()
    if parent != before || parent != expected ?? parent {
      throw SystemError(.noProcess, call: "getppid", subject: "process \(expected ?? before)")
    }
  }
}
