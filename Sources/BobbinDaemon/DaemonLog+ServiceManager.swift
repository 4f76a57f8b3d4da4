import JobDaemon
import SystemSupport

extension DaemonLog {
  /// Tells the service manager, and the log if it can't be told; without one this does nothing.
  func tellManager(_ notifications: ServiceNotification...) {
    do throws(SystemError) { try ServiceManager.notify(notifications) } catch {
      warning("the service manager can't be told: \(error)")
    }
  }
}
