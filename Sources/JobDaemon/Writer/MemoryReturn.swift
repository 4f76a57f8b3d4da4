import Dispatch
import Synchronization
import SystemSupport

/// Returns the allocator's unused memory to the system, once nothing has been written for a while.
///
/// While there is work the allocator would need the memory again at once; an idle daemon would keep the most that it
/// ever had.
final class MemoryReturn: Sendable {
  private let calm: Duration
  private let isIdle: @Sendable () -> Bool
  private let giveBack: @Sendable () -> Void
  private let timer = OneShotTimer(queue: DispatchQueue(label: "memory"))
  private let lastWork = Mutex(ContinuousClock.now)

  /// - Parameters:
  ///   - calm: the time without work after which memory is returned.
  ///   - isIdle: true if nothing is running. Work is noted when it ends.
  ///   - giveBack: returns memory to the system.
  init(
    calm: Duration = .seconds(5), isIdle: @escaping @Sendable () -> Bool,
    giveBack: @escaping @Sendable () -> Void = ProcessMemory.returnUnused
  ) {
    (self.calm, self.isIdle, self.giveBack) = (calm, isIdle, giveBack)
  }

  /// Notes that something was written; cheap enough for each flush.
  func noteWork() {
    lastWork.withLock { $0 = .now }
    // Armed once for many flushes: the alarm finds out when the last one was.
    arm(after: calm)
  }

  private func arm(after delay: Duration) {
    timer.arm(after: delay, replacing: false) { [weak self] in self?.returnIfCalm() }
  }

  private func returnIfCalm() {
    let left = calm - lastWork.withLock { $0 }.duration(to: .now)
    if left > .zero { return arm(after: left) }
    if isIdle() { giveBack() }
  }
}
