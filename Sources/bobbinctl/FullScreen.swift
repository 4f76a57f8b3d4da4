import Foundation
internal import Glibc
import SystemSupport

/// A terminal that one program has to itself: the other screen, no cursor, keys as they are typed.
///
/// It is left as it was found, also if the program crashes.
final class FullScreen: Sendable {
  /// Private modes of xterm: 1049 is the other screen, 25 the cursor.
  private static let (enter, leave) = ("\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J", "\u{1b}[?25h\u{1b}[?1049l")

  private let mode: TerminalMode
  private let output = FileHandle.standardOutput

  /// - Throws: if standard input or output is no terminal.
  init() throws(ToolError) {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
      throw ToolError(
        .usage, "top needs a terminal for its keys and its screen",
        hint: "\"bobbinctl top --once\" prints what it would show")
    }
    do throws(SystemError) { mode = try TerminalMode(of: STDIN_FILENO) } catch {
      throw ToolError(.unavailable, "the terminal can't be set up: \(error)")
    }
  }

  /// Takes the terminal.
  func begin() throws(ToolError) {
    do throws(SystemError) { try mode.takeKeys(leavingBy: Self.leave, on: STDOUT_FILENO) } catch {
      throw ToolError(.unavailable, "the terminal can't be set up: \(error)")
    }
    write(Self.enter)
  }

  /// Gives the terminal back as it was.
  func end() {
    write(Self.leave)
    mode.restore()
  }

  /// The size of frames: in the last column the cursor may already be on the next line.
  var size: TopFrame.Size {
    let terminal = Terminal(descriptor: STDOUT_FILENO)
    return TopFrame.Size(width: max(1, (terminal.width ?? 80) - 1), height: max(1, terminal.height ?? 24))
  }

  /// Shows lines, in one write, so that nothing flickers: each over what was there.
  func show(_ lines: [String]) { write("\u{1b}[H" + lines.joined(separator: "\u{1b}[K\r\n") + "\u{1b}[K\u{1b}[J") }

  private func write(_ text: String) {
    // A terminal that is gone ends the program by SIGHUP.
    try? output.write(contentsOf: Data(text.utf8))
  }
}
