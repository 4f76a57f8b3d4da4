import CLinux
import Foundation
import Glibc

/// An exclusive lock on a file that says which process holds it; the kernel releases it when the process ends.
///
/// The file stays: removing it would let two processes lock two files of one name.
package final class FileLock: Sendable {
  package let path: String
  private let descriptor: FileDescriptor

  /// Takes the lock without waiting and writes this process's ID into the file.
  ///
  /// - Throws: ``SystemError/Code/wouldBlock`` when it is held; the hint names the holder.
  package init(path: String) throws(SystemError) {
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY
    descriptor = FileDescriptor(owning: try systemCall("open", path) { open(path, flags, 0o600) })
    let number = descriptor.number
    do {
      try systemCall("flock", path) { flock(number, LOCK_EX | LOCK_NB) }
    } catch  where error.code == .wouldBlock {
      throw error.hinting(Self.holder(descriptor).map { "process \($0) holds it" } ?? "another process holds it")
    }
    try descriptor.truncate(to: 0)
    try descriptor.writeAll(Data("\(getpid())\n".utf8))
    self.path = path
  }

  private static func holder(_ descriptor: borrowing FileDescriptor) -> Int32? {
    guard let content = try? descriptor.readAll(limit: 32) else { return nil }
    return Int32(String(decoding: content, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
