import Foundation
import JSONText

/// A job file that is submitted.
enum JobFileSource: Sendable {
  /// One that is read; `-` is standard input.
  case file(String)
  /// One that a command has made of its arguments.
  case made(JSONValue)

  /// A name for people.
  var name: String {
    switch self {
    case .file(let path): path == "-" ? "standard input" : path
    case .made: "the jobs"
    }
  }

  /// The name as the daemon takes it for a handle of its jobs; nil if it has none, or one with other characters.
  var handle: String? {
    guard case .file(let path) = self else { return nil }
    let name = URL(fileURLWithPath: path).lastPathComponent
    return path != "-" && name.wholeMatch(of: /[A-Za-z0-9_-][A-Za-z0-9._-]{0,59}/) != nil ? name : nil
  }

  /// An error about it, with its name; nobody has seen the lines of one that a command has made.
  func placed(_ error: ToolError) -> ToolError {
    switch self {
    case .file: return error.about(name)
    case .made:
      let line = "line 1: "
      guard error.message.hasPrefix(line) else { return error }
      return ToolError(error.code, String(error.message.dropFirst(line.count)), hint: error.hint)
    }
  }
}
