import CLinux
import Glibc

extension Directory {
  /// Visits the names of all entries except `.` and `..`, in the file system's order, with constant memory.
  ///
  /// Entries created or removed meanwhile may or may not be seen. Each call scans from the beginning, independently of
  /// other scans of this directory.
  ///
  /// - Parameter body: Returns false to stop.
  /// - Throws: ``SystemError``, or what `body` throws.
  package func forEachEntry(_ body: (FileName) throws -> Bool) throws {
    // A duplicate would share the reading position with other scans: open the directory anew.
    let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
    let scan = try systemCall("openat", path) { openat(descriptor.number, ".", flags) }
    guard let stream = fdopendir(scan) else {
      let code = errno
      _ = Glibc.close(scan)
      throw SystemError(.init(rawValue: code), call: "fdopendir", subject: path)
    }
    defer { closedir(stream) }
    while let name = try nextName(of: stream) {
      if name == "." || name == ".." { continue }
      if try !body(name) { return }
    }
  }

  /// The names of all entries; for directories known to be small.
  package func entries() throws -> [FileName] {
    var names: [FileName] = []
    try forEachEntry { name in
      names.append(name)
      return true
    }
    return names
  }

  private func nextName(of stream: OpaquePointer) throws(SystemError) -> FileName? {
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
    return FileName(bytes: UnsafeBufferPointer(start: start, count: strlen(start)))
  }
}
