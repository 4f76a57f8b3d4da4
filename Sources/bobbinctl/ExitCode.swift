/// The exit code of bobbinctl; numbers from 64 on are those of sysexits(3). Documented in bobbinctl(1).
enum ExitCode: Int32 {
  case success = 0
  /// A job ended without completing, or the doctor has found something.
  case jobFailed = 1
  /// There is no such job.
  case notFound = 2
  /// A job is held, so waiting for it is pointless.
  case jobHeld = 3
  case usage = 64
  /// A job file was refused.
  case refused = 65
  /// A file can't be read.
  case unreadableFile = 66
  /// The daemon doesn't answer, or not in words that this version understands.
  case unavailable = 69
  /// Standard output can't be written.
  case outputFailed = 74
  /// The wait ran out, or the daemon takes nothing for now.
  case tryAgain = 75
  case notPermitted = 77
}
