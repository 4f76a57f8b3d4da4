/// The reason why a command failed: its exit code and a message to the user.
struct ToolError: Error, Equatable {
  let code: ExitCode
  /// The message, possibly with text from elsewhere; not yet safe to print.
  let message: String
  /// Advice to the user.
  let hint: String?

  init(_ code: ExitCode, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// The same error about one of several things.
  func about(_ subject: String) -> ToolError {
    ToolError(code, "\(subject): \(message)", hint: hint)
  }
}
