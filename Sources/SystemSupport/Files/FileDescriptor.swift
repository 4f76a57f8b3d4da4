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
  package consuming func relinquish() -> Int32 {
    let number = number
    discard self
    return number
  }

  /// Lets a closure use a descriptor that somebody else owns, and keeps open for as long.
  package static func borrowing<Result>(
    _ number: Int32, _ body: (borrowing FileDescriptor) throws -> Result
  ) rethrows -> Result {
    let descriptor = FileDescriptor(owning: number)
    do {
      let result = try body(descriptor)
      _ = descriptor.relinquish()
      return result
    } catch {
      _ = descriptor.relinquish()
      throw error
    }
  }

  /// Closes, and reports late errors of the file system, such as EIO or EDQUOT on a network file system.
  package consuming func close() throws(SystemError) {
    let number = relinquish()
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

  /// Sets the time of the last change, in nanoseconds since 1970.
  package func setModificationTime(_ time: Int64) throws(SystemError) {
    let (seconds, nanoseconds) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
    let moment = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
    try systemCall("futimens", subject) { futimens(number, [moment, moment]) }
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

extension FileDescriptor {
  /// Opens a path that we chose. Files that users name are opened with ``Directory/openFile(_:)`` and
  /// ``UserIdentity/openFile(_:)``.
  ///
  /// - Parameters:
  ///   - path: Absolute or relative to the working directory.
  ///   - access: How the file may be used and whether it is created.
  ///   - mode: Permission bits of a created file, before the umask.
  package static func open(
    _ path: String, _ access: FileAccess = .reading, mode: UInt32 = 0o600
  ) throws(SystemError) -> FileDescriptor {
    let flags = access.flags | O_CLOEXEC | O_NOCTTY
    return FileDescriptor(owning: try systemCall("open", path) { Glibc.open(path, flags, mode) })
  }

  /// Opens `/dev/null` for reading and writing.
  package static func null() throws(SystemError) -> FileDescriptor {
    try open("/dev/null", .readingAndWriting)
  }

  /// A pipe whose ends are closed on exec.
  package static func pipe() throws(SystemError) -> DescriptorPair {
    var ends: [Int32] = [-1, -1]
    try systemCall("pipe2") { pipe2(&ends, O_CLOEXEC) }
    return DescriptorPair(first: FileDescriptor(owning: ends[0]), second: FileDescriptor(owning: ends[1]))
  }

  /// An anonymous file in memory that lives as long as its descriptors.
  ///
  /// - Parameter name: Seen in `/proc/PID/fd` only.
  package static func inMemory(named name: String) throws(SystemError) -> FileDescriptor {
    FileDescriptor(owning: try systemCall("memfd_create", name) { memfd_create(name, linux_memfd_close_on_exec) })
  }
}

extension FileDescriptor {
  /// The target of a symbolic link that was opened as a path only.
  func linkTarget() throws(SystemError) -> [UInt8] {
    var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = try systemCall("readlinkat", subject) { () -> Int in
      target.withUnsafeMutableBytes { buffer in
        readlinkat(number, "", buffer.assumingMemoryBound(to: CChar.self).baseAddress!, buffer.count)
      }
    }
    return Array(target.prefix(count))
  }

  /// Opens a regular file again for reading, from its beginning, whatever its names are now.
  package func reopenedForReading() throws(SystemError) -> FileDescriptor {
    let path = procPath
    let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
    return FileDescriptor(owning: try systemCall("open", path) { Glibc.open(path, flags) })
  }

  /// Opens a folder, to list and synchronize, that is open as a path only.
  func reopenedAsFolder() throws(SystemError) -> FileDescriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    return FileDescriptor(owning: try systemCall("openat", subject) { openat(number, ".", flags) })
  }
}

extension FileDescriptor {
  /// The file's name in errors: see ``subject(of:)``.
  var subject: String { Self.subject(of: number) }

  /// A file's name in errors: its present path, or the kernel's name for a pipe, a socket and the like.
  ///
  /// Costs a system call, so it is for what has failed. Where `/proc` is out of reach, as in a confined process, the
  /// number has to do.
  static func subject(of number: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { target in
      let count = target.baseAddress.map { readlink("/proc/self/fd/\(number)", $0, target.count) } ?? 0
      guard count > 0 else { return "descriptor \(number)" }
      return String(decoding: UnsafeRawBufferPointer(target).prefix(count), as: UTF8.self)
    }
  }
}

/// The mode in which a file is opened.
package enum FileAccess: Sendable {
  case reading
  case writing
  case readingAndWriting
  /// Writes at the end; the file is created if it is missing.
  case appending
  /// Reads and writes; the file is created if it is missing.
  case creating
  /// Reads and writes a file that must not exist yet.
  case creatingExclusively

  var flags: Int32 {
    switch self {
    case .reading: O_RDONLY
    case .writing: O_WRONLY
    case .readingAndWriting: O_RDWR
    case .appending: O_WRONLY | O_CREAT | O_APPEND
    case .creating: O_RDWR | O_CREAT
    case .creatingExclusively: O_RDWR | O_CREAT | O_EXCL
    }
  }
}

/// Two descriptors made together: a pipe's reading and writing end, or the two ends of a socket pair.
package struct DescriptorPair: ~Copyable, Sendable {
  /// A pipe's reading end.
  package let first: FileDescriptor
  /// A pipe's writing end.
  package let second: FileDescriptor

  init(first: consuming FileDescriptor, second: consuming FileDescriptor) {
    self.first = first
    self.second = second
  }

  /// Hands both ends to `body`, which owns them from then on.
  package consuming func split<Result, Failure: Error>(
    _ body: (consuming FileDescriptor, consuming FileDescriptor) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(first, second)
  }
}
