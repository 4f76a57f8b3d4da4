import Foundation
internal import Glibc
import SystemSupport

/// Standard output for what was asked for, standard error for everything else.
struct Output {
  let terminal = Terminal(descriptor: STDOUT_FILENO)
  private let progressTerminal = Terminal(descriptor: STDERR_FILENO)

  func write(_ text: String) throws(ToolError) {
    try write(Data(text.utf8))
  }

  func write(_ data: Data) throws(ToolError) {
    do {
      try FileHandle.standardOutput.write(contentsOf: data)
    } catch {
      throw ToolError(.outputFailed, "standard output can't be written: \(error.localizedDescription)")
    }
  }

  func write(_ table: Table) throws(ToolError) {
    let lines = table.lines(width: terminal.width, usesColor: terminal.usesColor)
    try write(lines.map { $0 + "\n" }.joined())
  }

  func write(_ fields: FieldList) throws(ToolError) {
    try write(fields.lines(usesColor: terminal.usesColor).map { $0 + "\n" }.joined())
  }

  /// Says why something failed and what to do.
  func report(_ error: ToolError) {
    note(error.message)
    if let hint = error.hint { note("hint: \(hint)") }
  }

  /// One line for the user; foreign text in it is made safe.
  func note(_ message: String) {
    say("bobbinctl: \(singleLine(message))\n")
  }

  /// True if anybody would see a line of progress.
  var showsProgress: Bool { progressTerminal.isTerminal }

  /// The longest line of progress, in characters; nil if any length will do.
  // In the last column the cursor may already be on the next line.
  var progressWidth: Int? { progressTerminal.width.map { max(1, $0 - 1) } }

  /// A line that the next one replaces, only on a terminal; what doesn't fit into its width is left out.
  func showProgress(_ text: String) {
    let shown = progressWidth.map { String(text.prefix($0)) } ?? text
    if progressTerminal.isTerminal { say("\r\(shown)\u{1b}[K") }
  }

  func clearProgress() {
    if progressTerminal.isTerminal { say("\r\u{1b}[K") }
  }

  private func say(_ text: String) {
    // There is nobody left to tell if this fails.
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}
