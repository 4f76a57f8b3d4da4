import Foundation
import Glibc
import SystemSupport

/// A terminal of a given width that keeps what a program writes to it.
final class PseudoTerminal: Sendable {
  private let controller: FileDescriptor
  private let user: FileDescriptor

  var userSide: Int32 { user.number }

  init(width: UInt16) throws {
    controller = try .open("/dev/ptmx", .readingAndWriting)
    var lock: Int32 = 0
    var number: UInt32 = 0
    var size = winsize(ws_row: 24, ws_col: width, ws_xpixel: 0, ws_ypixel: 0)
    // The requests of ioctl_tty(2) that the system's headers make of macros.
    let unlock: UInt = 0x4004_5431
    let getNumber: UInt = 0x8004_5430
    let master = controller.number
    try systemCall("ioctl") { ioctl(master, unlock, &lock) }
    try systemCall("ioctl") { ioctl(master, getNumber, &number) }
    user = try .open("/dev/pts/\(number)", .readingAndWriting)
    let slave = user.number
    try systemCall("ioctl") { ioctl(slave, UInt(TIOCSWINSZ), &size) }
  }

  private static let mark = "\u{1}end\u{1}"

  /// What programs have written, once they have ended: a mark that is written behind it shows that all of it has come.
  func text() throws -> String {
    try user.writeAll(Data(Self.mark.utf8))
    var text = Data()
    while text.suffix(Self.mark.utf8.count) != Data(Self.mark.utf8) {
      var state = pollfd(fd: controller.number, events: Int16(POLLIN), revents: 0)
      let isThere = try systemCall("poll") { poll(&state, 1, 10_000) } > 0
      if !isThere { throw Silence() }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = try bytes.withUnsafeMutableBytes { buffer in try controller.read(into: buffer) }
      text.append(contentsOf: bytes.prefix(count))
    }
    return String(decoding: text.dropLast(Self.mark.utf8.count), as: UTF8.self).replacing("\r\n", with: "\n")
  }

  private struct Silence: Error {}
}
