internal import Glibc
import StoreInterface

/// Holds a lock on a folder while it lives.
final class FolderLock: Sendable {
  private let descriptor: Int32
  private let path: String
  /// Whether nobody else had the lock when it was taken.
  let isAlone: Bool

  init(_ path: String) throws(StoreError) {
    self.path = path
    descriptor = try FileSystem.call("open", path) { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    isAlone = flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  deinit { close(descriptor) }

  /// Lets others have the lock too.
  func share() throws(StoreError) {
    try FileSystem.call("lock", path) { flock(descriptor, LOCK_SH) }
  }
}
