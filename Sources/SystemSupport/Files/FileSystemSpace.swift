import Glibc

/// The room in a file system, in bytes.
package struct FileSystemSpace: Sendable, Equatable {
  package let size: UInt64
  /// The room that users other than root may still fill.
  package let free: UInt64

  /// The room in the file system of a path.
  package init(of path: String) throws(SystemError) {
    var status = statvfs()
    try systemCall("statvfs", path) { statvfs(path, &status) }
    size = UInt64(status.f_blocks) * UInt64(status.f_frsize)
    free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
  }
}
