import JSONText
import Jobs

/// What a program tells the daemon with a line on its standard output; the format is in
/// Documentation/ProcessHandlers.md.
enum OutputMessage: Sendable, Equatable {
  case progress(JobProgress)
  case insert([ObjectInsert])
  case result(JSONValue)
  case checkpoint(String)
  case log(String)
  case failure(JobFailure)
}

/// An object that a program wants inserted; not yet checked against the model.
struct ObjectInsert: Sendable, Equatable {
  let entity: String
  let values: JSONObject
}

/// A line of output that is no message although it should be one, or one that can't be obeyed.
struct OutputError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The line on standard output, from 1.
  let line: Int
  let message: String

  var description: String { "line \(line) of its output: \(message)" }
}
