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

/// The exit code of bobbinctl; numbers from 64 on are those of sysexits(3). Documented in bobbinctl(1).
enum ExitCode: Int32 {
  case success = 0
  /// A job ended without completing, the doctor or a check has found something, models differ, or jobs can do nothing
  /// with a path.
  case jobFailed = 1
  /// There is no such job, or no such entity.
  case notFound = 2
  /// A job is held, so waiting for it is pointless.
  case jobHeld = 3
  /// Two stores differ, or an ID is that of another job.
  case different = 4
  case usage = 64
  /// A job file was refused, an entity is unknown, a store can't be copied, a host can't be removed, or a key tells nothing
  /// apart.
  case refused = 65
  /// A file can't be read, here or by jobs, or a store can't be opened.
  case unreadableFile = 66
  /// The daemon doesn't answer, or not in words that this version understands; a database can't be reached.
  case unavailable = 69
  /// Standard output can't be written, or a store.
  case outputFailed = 74
  /// The wait ran out, the daemon takes nothing for now, or somebody uses the store.
  case tryAgain = 75
  case notPermitted = 77
}
