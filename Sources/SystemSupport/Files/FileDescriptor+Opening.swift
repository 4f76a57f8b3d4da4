import CLinux
import Glibc

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
