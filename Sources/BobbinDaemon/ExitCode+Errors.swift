import Configuration
import JobDaemon
import ObjectGraph
import ObjectModel
import SystemSupport

extension ExitCode {
  /// The exit code of a daemon that could not start.
  init(failedStart error: any Error) {
    self =
      switch error {
      case is UsageError: .usage
      case is ConfigurationError, is ModelError, is HandlerTypeError: .configuration
      case let error as StoreError: error.code == .inputOutput || error.code == .full ? .storeFailure : .configuration
      case let error as SystemError:
        error.code == .wouldBlock || error.code == .addressInUse ? .unavailable : .storeFailure
      default: .internalFailure
      }
  }
}
