/// An error in a job file: the line, the key, and what to do.
public struct JobFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line in the file, from 1, where there is one.
  public var line: Int?
  /// The path of the key, as `jobs[3].arguments.input`.
  public var key: String?
  /// The message: what is wrong and what is expected instead.
  public var message: String

  /// An error in a job file.
  public init(_ message: String, line: Int? = nil, key: String? = nil) {
    self.message = message
    self.line = line
    self.key = key
  }

  /// The line, the key and the message.
  public var description: String {
    (line.map { "line \($0): " } ?? "") + (key.map { "\"\($0)\": " } ?? "") + message
  }
}
