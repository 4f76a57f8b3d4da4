import CLinux
import Glibc

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
