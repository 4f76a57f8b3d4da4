import Foundation
import Glibc
import SystemSupport

/// A terminal of a given width that keeps what a program writes to it.
final class PseudoTerminal: Sendable {
  private let controller: FileDescriptor
  private let user: FileDescriptor

  var userSide: Int32 { user.number }

  init(width: UInt16, height: UInt16 = 24) throws {
    controller = try .open("/dev/ptmx", .readingAndWriting)
    var lock: Int32 = 0
    var number: UInt32 = 0
    var size = winsize(ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0)
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

  /// Types something.
  func type(_ text: String) throws { try controller.writeAll(Data(text.utf8)) }

  /// Changes the size; programs that have it as their controlling terminal would be told.
  func resize(width: UInt16, height: UInt16) throws {
    var size = winsize(ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0)
    let slave = user.number
    try systemCall("ioctl") { ioctl(slave, UInt(TIOCSWINSZ), &size) }
  }

  /// True if keys are shown and come line by line, as a shell wants it.
  var isInLineMode: Bool {
    get throws {
      var settings = termios()
      let slave = user.number
      try systemCall("tcgetattr") { tcgetattr(slave, &settings) }
      return settings.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
    }
  }

  /// Reads until programs have written a text; returns everything since the last time.
  func text(until end: String) throws -> String {
    var text = Data()
    while text.range(of: Data(end.utf8)) == nil {
      let more = try readSome()
      text.append(contentsOf: more)
    }
    return String(decoding: text, as: UTF8.self)
  }

  private func readSome() throws -> [UInt8] {
    var state = pollfd(fd: controller.number, events: Int16(POLLIN), revents: 0)
    let isThere = try systemCall("poll") { poll(&state, 1, 60_000) } > 0
    if !isThere { throw Silence() }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = try bytes.withUnsafeMutableBytes { buffer in try controller.read(into: buffer) }
    return Array(bytes.prefix(count))
  }

  private static let mark = "\u{1}end\u{1}"

  /// What programs have written, once they have ended: a mark that is written behind it shows that all of it has come.
  func text() throws -> String {
    try user.writeAll(Data(Self.mark.utf8))
    var text = Data()
    while text.suffix(Self.mark.utf8.count) != Data(Self.mark.utf8) {
      text.append(contentsOf: try readSome())
    }
    return String(decoding: text.dropLast(Self.mark.utf8.count), as: UTF8.self).replacing("\r\n", with: "\n")
  }

  private struct Silence: Error {}
}
