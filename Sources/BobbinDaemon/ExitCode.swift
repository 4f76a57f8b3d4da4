import Glibc

/// The daemon's exit codes, from sysexits.h.
enum ExitCode: Int32, Error {
  case success = 0
  case usage = 64
  case unavailable = 69
  case internalFailure = 70
  case storeFailure = 74
  case configuration = 78

  /// Ends the process at once, without running exit handlers.
  func exitNow() -> Never { _exit(rawValue) }
}
