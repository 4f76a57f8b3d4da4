import CLinux
import Glibc

extension FileDescriptor {
  /// The writers of a file.
  package enum Writers: Sendable {
    case none
    case some
    /// The kernel tells only the file's owner, root, and who has CAP_LEASE; and not on every file system.
    case unknown
  }

  /// Checks for writers of this file, which is open for reading only, and keeps new ones out; see fcntl(2), "Leases".
  ///
  /// If there are none, an open for writing waits until this descriptor is closed, though no longer than
  /// `/proc/sys/fs/lease-break-time`; the file then holds everything that was written. The kernel lowers the count of
  /// writers a moment after inotify reports the close: right after that event the answer may still be ``Writers/some``.
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
