import CLinux
import Glibc

extension FileDescriptor {
  /// Whether somebody has a file open for writing.
  package enum Writers: Sendable {
    case none
    case some
    /// The kernel tells only the file's owner, root, and who has CAP_LEASE; and not on every file system.
    case unknown
  }

  /// Finds out whether anybody has this file, opened for reading only, open for writing; see fcntl(2), "Leases".
  ///
  /// If nobody has, whoever wants to write to it from now on waits until this descriptor is closed, though no longer than
  /// `/proc/sys/fs/lease-break-time`. What was written by then is all in the file. The count that this looks at is
  /// lowered a moment after inotify tells of the close: right after that event the answer may still be ``Writers/some``.
  package func excludeWriters() throws(SystemError) -> Writers {
    // The signal for "somebody wants to write" would end the process; this one is ignored unless asked for.
    try systemCall("fcntl", subject) { fcntl(number, linux_set_signal, SIGURG) }
    do throws(SystemError) {
      try systemCall("fcntl", subject) { fcntl(number, linux_set_lease, Int32(F_RDLCK)) }
      return .none
    } catch {
      switch error.code.rawValue {
      case EAGAIN: return .some
      case EACCES, EPERM, EINVAL, ENOTSUP, ENOLCK, ENOSYS: return .unknown
      default: throw error
      }
    }
  }
}
