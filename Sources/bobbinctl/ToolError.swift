/// Why a command failed: the exit code, and what to tell the user.
struct ToolError: Error, Equatable {
  let code: ExitCode
  /// What happened, possibly with text from elsewhere; not yet safe to print.
  let message: String
  /// What to do about it.
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
