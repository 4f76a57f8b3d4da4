import CLinux
package import struct Foundation.Data
import Glibc
import Synchronization

/// An open directory; everything is done relative to its descriptor, so that renaming or replacing its path can't redirect it.
///
/// Names must be single components: `a/b`, `..` and the empty name are refused with EINVAL before the kernel sees them.
package final class Directory: Sendable {
  /// The path it was opened by, for messages only.
  package let path: String
  let descriptor: FileDescriptor

  init(path: String, descriptor: consuming FileDescriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  /// Opens an existing directory, following symbolic links on the way as configuration may contain them.
  package convenience init(path: String) throws(SystemError) {
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    let number = try systemCall("open", path) { open(path, flags) }
    self.init(path: path, descriptor: FileDescriptor(owning: number))
  }

  /// Opens a directory in this one, refusing a symbolic link.
  package func openDirectory(_ name: FileName) throws(SystemError) -> Directory {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let number = try call("openat", name) { openat(descriptor.number, $0, flags) }
    return Directory(path: displayPath(name), descriptor: FileDescriptor(owning: number))
  }

  /// The directory that this one lies in, to look at; that of the root is the root itself.
  package func parent() throws(SystemError) -> Directory {
    let flags = linux_open_path | O_DIRECTORY | O_CLOEXEC
    let number = try systemCall("openat", path) { openat(descriptor.number, "..", flags) }
    return Directory(path: path + "/..", descriptor: FileDescriptor(owning: number))
  }

  /// The directory's own status.
  package func status() throws(SystemError) -> FileStatus {
    try descriptor.status()
  }

  /// The status of an entry, without following a symbolic link.
  package func status(of name: FileName) throws(SystemError) -> FileStatus {
    var status = stat()
    try call("fstatat", name) { fstatat(descriptor.number, $0, &status, AT_SYMLINK_NOFOLLOW) }
    return FileStatus(status)
  }

  /// True if there is an entry of this name, of any kind.
  package func contains(_ name: FileName) throws(SystemError) -> Bool {
    do {
      _ = try status(of: name)
      return true
    } catch  where error.code == .noEntry {
      return false
    }
  }

  /// Waits until all entries created, renamed and removed here are on the disk.
  package func synchronize() throws(SystemError) {
    try systemCall("fsync", path) { fsync(descriptor.number) }
  }

  /// Runs a call about one entry through the gate, with its path in the error.
  @discardableResult
  func call(
    _ callName: String, _ name: FileName, body: (UnsafePointer<CChar>) -> Int32
  ) throws(SystemError) -> Int32 {
    guard name.isSingleComponent else {
      throw SystemError(
        .invalidArgument, call: callName, subject: displayPath(name), hint: "a name must be one entry of its directory")
    }
    return try name.withCString { (pointer) throws(SystemError) in
      try systemCall(callName, self.displayPath(name)) { body(pointer) }
    }
  }

  /// The entry's path for messages; bytes that aren't UTF-8 are replaced.
  func displayPath(_ name: FileName) -> String {
    let separator = path.hasSuffix("/") ? "" : "/"
    return path + separator + (name.string ?? name.description)
  }
}

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

  /// Checks that this process may make files here.
  package func checkWritable() throws(SystemError) {
    try systemCall("faccessat", path) { faccessat(descriptor.number, ".", W_OK | X_OK, AT_EACCESS) }
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
    let flags = replacing ? 0 : linux_rename_no_replace
    try move(name, to: newName, in: directory ?? self, flags: flags)
  }

  /// Exchanges the names of two entries, without a moment in which one of them is missing.
  package func exchange(_ name: FileName, with other: FileName) throws(SystemError) {
    try move(name, to: other, in: self, flags: linux_rename_exchange)
  }

  private func move(
    _ name: FileName, to newName: FileName, in target: Directory, flags: UInt32
  ) throws(SystemError) {
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

extension Directory {
  /// Visits the names of all entries except `.` and `..`, in the file system's order, in constant memory.
  ///
  /// Entries created or removed meanwhile may or may not be seen. Each call scans from the beginning, independently of
  /// other scans of this directory.
  ///
  /// - Parameter body: Returns false to stop.
  /// - Throws: ``SystemError``, or what `body` throws.
  package func forEachEntry(_ body: (FileName) throws -> Bool) throws {
    let scan = try DirectoryScan(self)
    while let name = try scan.next() {
      if try !body(name) { return }
    }
  }

  /// The names of all entries; for directories known to be small.
  package func entries() throws(SystemError) -> [FileName] {
    let scan = try DirectoryScan(self)
    var names: [FileName] = []
    while let name = try scan.next() { names.append(name) }
    return names
  }
}

/// One pass over the names in a directory, in the file system's order, in constant memory.
///
/// An entry that exists during the whole pass is seen exactly once; one that comes or goes meanwhile may be missed.
package final class DirectoryScan: Sendable {
  private let path: String
  private let lock = Mutex<Void>(())
  // Used under the lock only.
  private nonisolated(unsafe) let stream: OpaquePointer

  /// Begins a pass that is independent of others.
  package init(_ directory: Directory) throws(SystemError) {
    path = directory.path
    // A duplicate would share the reading position with other scans: open the directory anew.
    let scan = try directory.descriptor.reopenedAsFolder().relinquish()
    guard let stream = fdopendir(scan) else {
      let code = errno
      _ = Glibc.close(scan)
      throw SystemError(.init(rawValue: code), call: "fdopendir", subject: path)
    }
    self.stream = stream
  }

  deinit {
    closedir(stream)
  }

  /// The next name except `.` and `..`, or nil at the end.
  package func next() throws(SystemError) -> FileName? {
    let result = lock.withLock { _ in Result { () throws(SystemError) in try read() } }
    return try result.get()
  }

  private func read() throws(SystemError) -> FileName? {
    while true {
      // errno alone distinguishes the end from an error.
      errno = 0
      guard let entry = readdir(stream) else {
        let code = errno
        if code == 0 { return nil }
        throw SystemError(.init(rawValue: code), call: "readdir", subject: path)
      }
      // The record is shorter than the declared array, so the name is read in place, never copied as the whole struct.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return nil }
      let start = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: UInt8.self)
      let name = FileName(bytes: UnsafeBufferPointer(start: start, count: strlen(start)))
      if name != "." && name != ".." { return name }
    }
  }
}
