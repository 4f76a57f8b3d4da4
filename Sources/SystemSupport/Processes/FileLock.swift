import CLinux
import Dispatch
import Foundation
import Glibc

/// An exclusive lock on a file that says which process holds it; the kernel releases it when the process ends.
///
/// The file stays: removing it would let two processes lock two files of one name.
package final class FileLock: Sendable {
  package let path: String
  private let descriptor: FileDescriptor

  /// Acquires the lock and writes this process's ID into the file.
  ///
  /// Waits only for a holder that is dead: a child that it was just starting has a copy of the lock for a moment.
  ///
  /// - Throws: ``SystemError/Code/wouldBlock`` when it is held; the hint names the holder.
  package init(path: String) throws(SystemError) {
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY
    descriptor = FileDescriptor(owning: try systemCall("open", path) { open(path, flags, 0o600) })
    let number = descriptor.number
    do {
      try systemCall("flock", path) { flock(number, LOCK_EX | LOCK_NB) }
    } catch  where error.code == .wouldBlock {
      let holder = Self.holder(descriptor)
      let isDead = holder.map { kill($0, 0) != 0 && errno == ESRCH } ?? false
      guard isDead, Self.wait(for: number) else {
        throw error.hinting(holder.map { "process \($0) holds it" } ?? "another process holds it")
      }
    }
    // In this order, as overwriting needs no room on a full disk.
    let content = Data("\(getpid())\n".utf8)
    try descriptor.writeAll(content)
    try descriptor.truncate(to: Int64(content.count))
    self.path = path
  }

  deinit {
    // A child that is just being started may have a copy of the descriptor, so closing it would not be enough.
    _ = flock(descriptor.number, LOCK_UN)
  }

  /// Waits for the lock; false if that takes too long.
  private static func wait(for number: Int32) -> Bool {
    let taken = Latch()
    // The call has no time limit, and what it waits on ends with this process.
    Thread.detachNewThread {
      if (try? systemCall("flock") { flock(number, LOCK_EX) }) != nil { taken.open() }
    }
    return taken.wait(for: .seconds(5))
  }

  private static func holder(_ descriptor: borrowing FileDescriptor) -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 32)
    // At a position of its own: what is written later begins at the file's.
    guard let count = try? bytes.withUnsafeMutableBytes({ try descriptor.read(into: $0, at: 0) }) else { return nil }
    let content = String(decoding: bytes.prefix(count), as: UTF8.self)
    return Int32(content.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
