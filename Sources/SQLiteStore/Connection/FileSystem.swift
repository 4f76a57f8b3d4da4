import Foundation
import Glibc
import StoreInterface

/// The system calls of the store's files: read errno first, retry EINTR, throw an error with path.
enum FileSystem {
  /// Creates a file that must not exist, writes all bytes and syncs it.
  static func write(_ bytes: UnsafeRawBufferPointer, to path: String, mode: mode_t) throws(StoreError) {
    let descriptor = try call("create", path) { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
    defer { close(descriptor) }
    var offset = 0
    while let base = bytes.baseAddress, offset < bytes.count {
      offset += try call("write", path) { Glibc.write(descriptor, base + offset, bytes.count - offset) }
    }
    _ = try call("sync", path) { fsync(descriptor) }
  }

  /// Copies a file to one that must not exist, and syncs it.
  static func copy(_ source: String, to path: String, mode: mode_t) throws(StoreError) {
    let input = try call("open", source) { open(source, O_RDONLY | O_CLOEXEC) }
    defer { close(input) }
    let output = try call("create", path) { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
    defer { close(output) }
    while try call("copy", path, body: { sendfile(output, input, nil, 1 << 30) }) > 0 {}
    _ = try call("sync", path) { fsync(output) }
  }

  /// Gives a file a second name; copies it where the file system can't.
  ///
  /// - Parameter mode: the permission bits of a copy.
  static func linkOrCopy(_ source: String, to path: String, mode: mode_t) throws(StoreError) {
    try sync(source)
    if link(source, path) == 0 { return }
    switch errno {
    case EXDEV, EPERM, EMLINK, ENOTSUP: try copy(source, to: path, mode: mode)
    case let code: throw error(code, "link", path: source)
    }
  }

  /// Syncs a file, or the names in a folder.
  static func sync(_ path: String) throws(StoreError) {
    let descriptor = try call("open", path) { open(path, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    _ = try call("sync", path) { fsync(descriptor) }
  }

  /// Creates a folder unless it is there.
  static func makeFolder(_ path: String, mode: mode_t) throws(StoreError) {
    if mkdir(path, mode) == 0 { return }
    let code = errno
    guard code == EEXIST else { throw error(code, "create", path: path) }
  }

  /// Takes the rights of all others than the owner to a file or folder away, if it is there.
  static func makePrivate(_ path: String) throws(StoreError) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return }
    try call("take the rights of others to", path) { chmod(path, status.st_mode & 0o700) }
  }

  /// Removes a file; one that is gone already, or can't be removed, is left to the next sweep.
  static func remove(_ path: String) { unlink(path) }

  /// Removes a file, or a folder with all that is in it; one that is gone already is no error.
  static func removeAll(_ path: String) throws(StoreError) {
    do { try FileManager.default.removeItem(atPath: path) } catch {
      if (error as? CocoaError)?.code == .fileNoSuchFile { return }
      throw StoreError(
        .cannotOpen, "the file can't be removed; check the permissions of its folder", path: path, detail: "\(error)")
    }
  }

  /// Returns the size of a file in bytes; 0 if it is not there.
  static func size(of path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// The names in a folder; none if there is no folder.
  static func names(in path: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
  }

  /// Runs a call that returns -1 for an error.
  @discardableResult
  static func call<Result: SignedInteger>(
    _ what: String, _ path: String, body: () -> Result
  ) throws(StoreError) -> Result {
    while true {
      let result = body()
      if result != -1 { return result }
      let code = errno
      if code != EINTR { throw error(code, what, path: path) }
    }
  }

  static func error(_ code: Int32, _ what: String, path: String) -> StoreError {
    let reason = String(cString: strerror(code))
    switch code {
    case ENOSPC, EDQUOT:
      return StoreError(
        .full, "the disk or the quota is full: nothing was written; make room and try again", path: path)
    case EACCES, EPERM, EROFS:
      return StoreError(
        .readOnly, "can't \(what) the file: \(reason); check its permissions and its folder's", path: path)
    default:
      return StoreError(.inputOutput, "can't \(what) the file: \(reason)", path: path)
    }
  }
}
