import CLinux
package import struct Foundation.Data
import Glibc

extension Directory {
  /// Opens a file for reading that any user may have put here.
  ///
  /// A symbolic link is refused (ELOOP), a FIFO or device doesn't block and doesn't become the controlling terminal.
  /// The caller checks ``FileDescriptor/status()`` for the kind, links, owner and size.
  package func openFile(_ name: FileName) throws(SystemError) -> FileDescriptor {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
    return FileDescriptor(owning: try call("openat", name) { openat(descriptor.number, $0, flags) })
  }

  /// Creates a file that must not exist, for reading and writing.
  ///
  /// - Parameter mode: Permission bits, before the umask.
  package func createFile(_ name: FileName, mode: UInt32 = 0o600) throws(SystemError) -> FileDescriptor {
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    return FileDescriptor(owning: try call("openat", name) { openat(descriptor.number, $0, flags, mode) })
  }

  /// Creates a file without a name, for reading and writing, which is gone when it is closed unless it is linked.
  ///
  /// - Parameter mode: Permission bits, before the umask.
  /// - Returns: nil where the file system has no such files (NFS and some others).
  package func createUnnamedFile(mode: UInt32 = 0o600) throws(SystemError) -> FileDescriptor? {
    do throws(SystemError) {
      let flags = linux_open_unnamed | O_RDWR | O_CLOEXEC
      return FileDescriptor(owning: try systemCall("openat", path) { openat(descriptor.number, ".", flags, mode) })
    } catch {
      // EISDIR: a kernel or a file system that does not know the flag opens the directory itself.
      if error.code == .notSupported || error.code == .isDirectory { return nil }
      throw error
    }
  }

  /// Gives an open file a name here; fails with EEXIST if the name is there.
  ///
  /// - Parameters:
  ///   - file: An open file of the same mount.
  ///   - name: Its new name.
  package func link(_ file: borrowing FileDescriptor, as name: FileName) throws(SystemError) {
    let path = "/proc/self/fd/\(file.number)"
    try call("linkat", name) { linkat(AT_FDCWD, path, descriptor.number, $0, AT_SYMLINK_FOLLOW) }
  }

  /// Creates a directory.
  ///
  /// - Parameter mode: Permission bits, before the umask.
  package func makeDirectory(_ name: FileName, mode: UInt32 = 0o700) throws(SystemError) {
    try call("mkdirat", name) { mkdirat(descriptor.number, $0, mode) }
  }

  /// Removes an entry that isn't a directory.
  package func unlink(_ name: FileName) throws(SystemError) {
    try call("unlinkat", name) { unlinkat(descriptor.number, $0, 0) }
  }

  /// Removes an empty directory.
  package func removeDirectory(_ name: FileName) throws(SystemError) {
    try call("unlinkat", name) { unlinkat(descriptor.number, $0, AT_REMOVEDIR) }
  }

  /// Moves an entry within one mount; the change is on the disk after both directories are synchronized.
  ///
  /// - Parameters:
  ///   - name: The entry here.
  ///   - newName: Its name there.
  ///   - directory: Where to; nil means this directory.
  ///   - replacing: True if an existing target is replaced; otherwise the call fails with EEXIST, without a race.
  package func rename(
    _ name: FileName, to newName: FileName, in directory: Directory? = nil, replacing: Bool = true
  ) throws(SystemError) {
    let target = directory ?? self
    let flags = replacing ? 0 : linux_rename_no_replace
    guard newName.isSingleComponent else {
      throw SystemError(
        .invalidArgument, call: "renameat2", subject: target.displayPath(newName),
        hint: "a name must be one entry of its directory")
    }
    do {
      try newName.withCString { (newPointer) throws(SystemError) in
        _ = try call("renameat2", name) {
          renameat2(descriptor.number, $0, target.descriptor.number, newPointer, flags)
        }
      }
    } catch {
      throw error.hinting("the target is \(displayName(target.displayPath(newName)))")
    }
  }

  /// Writes a file atomically; it survives a power cut once this returns.
  ///
  /// The content goes to a temporary name starting with a dot, is synchronized, renamed over `name`, and the directory is
  /// synchronized. Costs two disk flushes.
  package func writeDurably(_ name: FileName, _ data: Data, mode: UInt32 = 0o600) throws(SystemError) {
    // Not derived from `name`, which may already have the longest length allowed.
    let temporary = FileName(".\(getpid()).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp")
    let file = try createFile(temporary, mode: mode)
    do throws(SystemError) {
      do throws(SystemError) {
        try file.writeAll(data)
        try file.synchronize()
      } catch {
        throw error.about(displayPath(name))
      }
      try rename(temporary, to: name)
    } catch {
      // The first error is the one to report; a left over temporary name is hidden and harmless.
      try? unlink(temporary)
      throw error
    }
    try synchronize()
  }
}
