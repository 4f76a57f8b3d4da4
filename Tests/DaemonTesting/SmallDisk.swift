import Foundation
import Glibc
import SystemSupport
import TestSupport

/// A small file system over a folder, which can be filled. Needs root.
package final class SmallDisk: Sendable {
  package let path: String

  /// Puts an empty one over a folder, with the folder's mode.
  package init(over path: String, megabytes: Int) throws {
    self.path = path
    let mode = String(try Directory(path: path).status().mode, radix: 8)
    guard mount("none", path, "tmpfs", 0, "size=\(megabytes)m,mode=\(mode)") == 0 else {
      throw SystemError(.init(rawValue: errno), call: "mount", subject: path)
    }
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }

  private var filler: String { path + "/.filler" }

  /// Writes until nothing more fits.
  package func fill() {
    let file = open(filler, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
    defer { close(file) }
    let block = [UInt8](repeating: 0, count: 4096)
    while write(file, block, block.count) > 0 {}
  }

  /// Makes room again.
  package func free() { unlink(filler) }
}
