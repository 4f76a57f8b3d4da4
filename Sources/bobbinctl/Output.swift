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
      try FileDescriptor.borrowing(STDOUT_FILENO) { try $0.writeAll(data) }
    } catch {
      throw ToolError(.outputFailed, "standard output can't be written: \(error)")
    }
  }

  func write(_ table: Table) throws(ToolError) {
    let lines = table.lines(width: terminal.width, usesColor: terminal.usesColor)
    try write(lines.map { $0 + "\n" }.joined())
  }

  func write(_ fields: FieldList) throws(ToolError) {
    let lines = fields.lines(width: terminal.width, usesColor: terminal.usesColor)
    try write(lines.map { $0 + "\n" }.joined())
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

  /// Shows a text that somebody has typed, with a mark under one of its characters.
  ///
  /// - Parameter column: Its number, from 1; the one behind the last is the end.
  func point(at column: Int, in text: String) {
    let line = text.map {
      $0.isWhitespace
        ? " " : $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? String($0) : "?"
    }
    say("  \(line.joined())\n  \(String(repeating: " ", count: max(0, min(column - 1, line.count))))^\n")
  }

  /// Asks a question on the terminal; true for a yes.
  func ask(_ question: String) -> Bool {
    say("bobbinctl: \(singleLine(question)) [y/N] ")
    return ["y", "yes"].contains(readLine()?.lowercased().trimmingCharacters(in: .whitespaces))
  }

  /// True if anybody would see lines of progress.
  var showsProgress: Bool { progressTerminal.isTerminal }

  /// The longest line of progress, in characters; nil if any length will do.
  // In the last column the cursor may already be on the next line.
  var progressWidth: Int? { progressTerminal.width.map { max(1, $0 - 1) } }

  /// The most lines of progress: what has scrolled out of a terminal can't be replaced.
  var progressHeight: Int { max(1, min(16, (progressTerminal.height ?? 24) - 1)) }

  /// A line that the next one replaces, only on a terminal; what doesn't fit into its width is left out.
  func showProgress(_ text: String) {
    let shown = progressWidth.map { String(text.prefix(columns: $0)) } ?? text
    if progressTerminal.isTerminal { say("\r\(shown)\u{1b}[K") }
  }

  func clearProgress() {
    if progressTerminal.isTerminal { say("\r\u{1b}[K") }
  }

  fileprivate func say(_ text: String) {
    // If this fails, there is no way left to report it.
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}

/// Lines of progress that the next ones replace, only on a terminal.
struct LiveLines {
  let output: Output
  private var shown: [String] = []

  init(_ output: Output) { self.output = output }

  /// The lines that those which were shown take now: more than at first, if the terminal has become narrower since.
  private var height: Int {
    guard let width = output.progressWidth else { return shown.count }
    return shown.reduce(0) { $0 + max(1, ($1.columns + width) / (width + 1)) }
  }

  /// Shows lines; what doesn't fit into the terminal is left out.
  mutating func show(_ lines: [String]) {
    guard output.showsProgress else { return }
    let next = lines.prefix(output.progressHeight).map { line in
      output.progressWidth.map { String(line.prefix(columns: $0)) } ?? line
    }
    let rest = next.count < height ? "\u{1b}[J" : ""
    output.say(toStart + next.joined(separator: "\u{1b}[K\n") + "\u{1b}[K" + rest)
    shown = next
  }

  mutating func clear() {
    guard output.showsProgress else { return }
    output.say(toStart + (height > 1 ? "\u{1b}[J" : "\u{1b}[K"))
    shown = []
  }

  /// Leads the cursor to the first of the lines: Cursor Up, ECMA-48 section 8.3.22.
  private var toStart: String { height > 1 ? "\r\u{1b}[\(height - 1)A" : "\r" }
}

/// The width and colours of the terminal that text goes to, if it goes to one.
struct Terminal {
  let descriptor: Int32
  let isTerminal: Bool
  /// Colour is for terminals that know it and users who don't mind (no-color.org).
  let usesColor: Bool

  init(descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    usesColor = isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
  }

  /// The width as it is now; nil when it is not a terminal, or one of unknown width.
  var width: Int? { size.width }
  var height: Int? { size.height }

  private var size: (width: Int?, height: Int?) {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (nil, nil) }
    return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : nil)
  }
}
