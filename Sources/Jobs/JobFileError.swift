/// Why a job file is refused: the line, the key, and what to do.
public struct JobFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line in the file, from 1, where there is one.
  public var line: Int?
  /// The path of the key, as `jobs[3].arguments.input`.
  public var key: String?
  public var message: String

  public init(_ message: String, line: Int? = nil, key: String? = nil) {
    self.message = message
    self.line = line
    self.key = key
  }

  public var description: String {
    (line.map { "line \($0): " } ?? "") + (key.map { "\"\($0)\": " } ?? "") + message
  }
}
