import CLinux
import Glibc
import Synchronization

/// The mode of a terminal, which a program that reads keys changes for a while.
package final class TerminalMode: Sendable {
  private let descriptor: Int32
  private let saved: termios

  /// Remembers the mode of a terminal.
  package init(of descriptor: Int32) throws(SystemError) {
    self.descriptor = descriptor
    var settings = termios()
    try systemCall("tcgetattr") { tcgetattr(descriptor, &settings) }
    saved = settings
  }

  /// Has keys come one by one and unseen; those that raise signals still do.
  ///
  /// A crash gives the terminal back as well.
  /// - Parameters:
  ///   - text: what is written to leave the program's screen, of at most 128 bytes.
  ///   - output: where it is written.
  package func takeKeys(leavingBy text: String, on output: Int32) throws(SystemError) {
    var settings = saved
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    withUnsafePointer(to: saved) { linux_give_back_terminal(descriptor, $0, output, text) }
    try systemCall("tcsetattr") { tcsetattr(descriptor, TCSADRAIN, &settings) }
  }

  /// Gives the terminal its mode back.
  package func restore() {
    linux_keep_terminal()
    var settings = saved
    // A terminal that is gone has no mode.
    _ = tcsetattr(descriptor, TCSADRAIN, &settings)
  }
}
