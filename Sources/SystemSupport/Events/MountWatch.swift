package import Dispatch
import Synchronization

/// Watches for what is mounted and unmounted where this process sees it; free while nothing is.
package final class MountWatch: Sendable {
  private let table: FileDescriptor
  private let queue: DispatchQueue
  private let handler: @Sendable (SystemError?) -> Void
  /// The wait for the next change; nil once it is stopped, or if it can't be waited for.
  private let wait = Mutex<ReadinessThread.Wait?>(nil)

  /// Begins to watch; look at what is mounted after this returns.
  ///
  /// - Parameters:
  ///   - queue: where the handler is called.
  ///   - handler: called after changes, of which several may be told at once, with the error if no others will be.
  package init(queue: DispatchQueue, handler: @escaping @Sendable (SystemError?) -> Void) throws(SystemError) {
    table = try FileDescriptor.open("/proc/self/mountinfo")
    self.queue = queue
    self.handler = handler
    try waitForChange()
  }

  deinit {
    if let wait = wait.withLock({ $0 }) { _ = ReadinessThread.shared.cancel(wait) }
  }

  private func waitForChange() throws(SystemError) {
    // A change is told as an error of the open file: see proc_pid_mountinfo(5).
    let next = try ReadinessThread.shared.whenHungUp(table.number) { [weak self] in self?.noteChange() }
    wait.withLock { $0 = next }
  }

  private func noteChange() {
    queue.async { [weak self] in
      guard let self else { return }
      // Before the look, so that nothing is missed in between. Descriptors that have been waited for can be again.
      do throws(SystemError) {
        try waitForChange()
        handler(nil)
      } catch {
        handler(error)
      }
    }
  }
}
