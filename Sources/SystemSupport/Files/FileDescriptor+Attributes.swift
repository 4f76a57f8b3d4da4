import CLinux
import Glibc

extension FileDescriptor {

  /// The value of an extended attribute, or nil if there is none of this name or the file system has none at all.
  package func extendedAttribute(_ name: String) throws(SystemError) -> [UInt8]? {
    // fgetxattr refuses descriptors that are open as a path only.
    let path = procPath
    // The kernel allows 64 KiB for a value; almost all are short.
    for capacity in [256, 64 << 10] {
      var value = [UInt8](repeating: 0, count: capacity)
      do throws(SystemError) {
        let count = try systemCall("getxattr", name) { getxattr(path, name, &value, capacity) }
        return Array(value.prefix(count))
      } catch {
        switch error.code.rawValue {
        case ENODATA, ENOTSUP: return nil
        case ERANGE where capacity == 256: continue
        default: throw error
        }
      }
    }
    return nil
  }

  /// Sets an extended attribute; returns false if the file system keeps none.
  package func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try systemCall("fsetxattr", name) { fsetxattr(number, name, value, value.count, 0) }
      return true
    } catch {
      if error.code.rawValue == ENOTSUP { return false }
      throw error
    }
  }

  /// Gives the file to another user; needs the rights of root.
  package func setOwner(_ user: UInt32, group: UInt32?) throws(SystemError) {
    try systemCall("fchown", subject) { fchown(number, user, group ?? .max) }
  }

  /// Sets the file's permission bits, whatever the umask.
  package func setMode(_ mode: UInt32) throws(SystemError) {
    try systemCall("fchmod", subject) { fchmod(number, mode) }
  }

  /// True if it was opened so that the content of the file can be read.
  package func isReadable() throws(SystemError) -> Bool {
    let flags = try systemCall("fcntl", subject) { fcntl(number, F_GETFL) }
    return flags & O_ACCMODE != O_WRONLY && flags & linux_open_path == 0
  }

  /// True if the file is no stored one: the kernel's, which shows each process something else, or one of a program (FUSE),
  /// which may let a read wait for ever.
  package func isMadeWhenRead() throws(SystemError) -> Bool {
    let type = try fileSystemType()
    // FUSE_SUPER_MAGIC of linux/magic.h.
    return type == 0x6573_5546 || KernelFileSystem.magicNumbers.contains(type)
  }

  /// The number of the kind of file system that the file lies on.
  func fileSystemType() throws(SystemError) -> Int64 {
    var type: Int64 = 0
    try systemCall("fstatfs", subject) {
      type = linux_file_system_type(number)
      return type < 0 ? -1 : 0
    }
    return type
  }

  /// A path that leads to this very file, whatever its names are now.
  var procPath: String { "/proc/self/fd/\(number)" }
}

extension FileDescriptor {
  /// The writers of a file.
  package enum Writers: Sendable {
    case none
    case some
    /// The kernel answers only the file's owner, root, and processes with CAP_LEASE; and not on every file system.
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
