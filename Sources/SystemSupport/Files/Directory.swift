import CLinux
import Glibc

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

  /// Limits the permission bits of files that are created here, whatever the umask of their creators.
  ///
  /// A default that is there already stays. Does nothing where the file system keeps no access control lists.
  package func limitModes(ofNewFiles mode: UInt32) throws(SystemError) {
    let name = AccessControlList.defaultAttributeName
    if try descriptor.extendedAttribute(name) != nil { return }
    _ = try descriptor.setExtendedAttribute(name, to: AccessControlList.bytes(ofMode: mode))
  }

  /// True if it has an access control list beyond its mode.
  package func hasAccessControlList() throws(SystemError) -> Bool { try descriptor.accessControlList() != nil }

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
    _ callName: String, _ name: FileName, _ body: (UnsafePointer<CChar>) -> Int32
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
