import Configuration
import Glibc
import JobDaemon
import Jobs
import ObjectGraph
import ObjectModel
import SystemSupport

/// The daemon's exit codes, from sysexits.h.
enum ExitCode: Int32, Error {
  case success = 0
  case usage = 64
  case unavailable = 69
  case internalFailure = 70
  case storeFailure = 74
  case temporaryFailure = 75
  case configuration = 78

  /// Ends the process at once, without running exit handlers.
  func exitNow() -> Never { _exit(rawValue) }
}

extension ExitCode {
  /// The exit code of a daemon that could not start.
  init(failedStart error: any Error) {
    self =
      switch error {
      case is UsageError: .usage
      case is ConfigurationError, is ModelError, is ModelErrors, is HandlerTypeError,
        is FolderErrors, is ProgramCheck.HelperError:
        .configuration
      case let error as StoreError: Self(failedStore: error)
      case let error as SystemError:
        error.code == .wouldBlock || error.code == .addressInUse ? .unavailable : .storeFailure
      default: .internalFailure
      }
  }

  private init(failedStore error: StoreError) {
    self =
      switch error.code {
      case .inputOutput, .full: .storeFailure
      // Another start may find a database that answers.
      case .unavailable: .temporaryFailure
      default: .configuration
      }
  }
}
