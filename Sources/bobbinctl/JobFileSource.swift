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
