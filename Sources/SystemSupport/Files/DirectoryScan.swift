import CLinux
import Glibc
import Synchronization

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
    let scan = try directory.descriptor.reopenedAsFolder().take()
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
      // readdir tells the end from an error by errno alone.
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
