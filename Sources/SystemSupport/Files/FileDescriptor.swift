import CLinux
import Glibc

/// An open descriptor with exactly one owner, which closes it when it goes away.
///
/// It can be a stored property of a class or an actor, or wait in a `Mutex` as an optional.
package struct FileDescriptor: ~Copyable, Sendable {
  /// The kernel's number. It is only valid while this value lives: don't keep it, don't close it.
  package let number: Int32

  /// Takes ownership of an open descriptor; the caller must not close it any more.
  package init(owning number: Int32) {
    precondition(number >= 0, "a descriptor can't be negative")
    self.number = number
  }

  deinit {
    // Linux releases the number even when close reports an error: repeating it could close someone else's.
    _ = Glibc.close(number)
  }

  /// Gives up ownership: the caller must close the returned number.
  package consuming func take() -> Int32 {
    let number = number
    discard self
    return number
  }

  /// Closes, and reports late errors of the file system, such as EIO or EDQUOT on a network file system.
  package consuming func close() throws(SystemError) {
    let number = take()
    if Glibc.close(number) != 0, errno != EINTR {
      // The number may be another file's by now.
      throw SystemError(.init(rawValue: errno), call: "close", subject: "descriptor \(number)")
    }
  }

  /// A second descriptor for the same open file, closed on exec.
  package func duplicate() throws(SystemError) -> FileDescriptor {
    FileDescriptor(owning: try systemCall("fcntl", subject) { fcntl(number, F_DUPFD_CLOEXEC, 3) })
  }

  /// The file's type, size, owner and times now.
  package func status() throws(SystemError) -> FileStatus {
    var status = stat()
    try systemCall("fstat", subject) { fstat(number, &status) }
    return FileStatus(status)
  }

  /// When the file was made, in nanoseconds since 1970; 0 if the file system doesn't keep it. Nobody can set it.
  package func birthTime() throws(SystemError) -> Int64 {
    var time: Int64 = 0
    try systemCall("statx", subject) {
      time = linux_birth_time(number)
      return time == -1 ? -1 : 0
    }
    return time
  }

  /// Waits until the file's data and metadata are on the disk.
  package func synchronize() throws(SystemError) {
    try systemCall("fsync", subject) { fsync(number) }
  }

  /// Waits until the file's data, and the metadata needed to read it, are on the disk.
  package func synchronizeData() throws(SystemError) {
    try systemCall("fdatasync", subject) { fdatasync(number) }
  }

  package func truncate(to size: Int64) throws(SystemError) {
    try systemCall("ftruncate", subject) { ftruncate(number, off_t(size)) }
  }

  /// Makes reads and writes return EAGAIN instead of waiting, or not; shared with all duplicates of this open file.
  package func setNonBlocking(_ isNonBlocking: Bool) throws(SystemError) {
    let flags = try systemCall("fcntl", subject) { fcntl(number, F_GETFL) }
    let wanted = isNonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
    try systemCall("fcntl", subject) { fcntl(number, F_SETFL, wanted) }
  }
}
