import Dispatch
import Synchronization
import SystemSupport

/// Returns the allocator's unused memory to the system, once nothing has been written for a while.
///
/// While there is work the allocator would need the memory again at once; an idle daemon would keep the most that it
/// ever had.
final class MemoryReturn: Sendable {
  private struct State {
    var last = ContinuousClock.now
    var isArmed = false
  }

  private let calm: Duration
  private let isIdle: @Sendable () -> Bool
  private let giveBack: @Sendable () -> Void
  private let queue = DispatchQueue(label: "memory")
  private let state = Mutex(State())

  /// - Parameters:
  ///   - calm: the time without work after which memory is returned.
  ///   - isIdle: true if nothing is running. Work is noted when it ends.
  ///   - giveBack: returns memory to the system.
  init(
    calm: Duration = .seconds(5), isIdle: @escaping @Sendable () -> Bool,
    giveBack: @escaping @Sendable () -> Void = ProcessMemory.giveBackUnused
  ) {
    (self.calm, self.isIdle, self.giveBack) = (calm, isIdle, giveBack)
  }

  /// Notes that something was written; cheap enough for each flush.
  func noteWork() {
    let isFirst = state.withLock { state in
      state.last = .now
      defer { state.isArmed = true }
      return !state.isArmed
    }
    if isFirst { look(after: calm) }
  }

  private func look(after delay: Duration) {
    queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay / .nanoseconds(1)))) { [weak self] in self?.look() }
  }

  private func look() {
    let left = state.withLock { state in
      let left = calm - state.last.duration(to: .now)
      if left <= .zero { state.isArmed = false }
      return left
    }
    if left > .zero { return look(after: left) }
    if isIdle() { giveBack() }
  }
}
