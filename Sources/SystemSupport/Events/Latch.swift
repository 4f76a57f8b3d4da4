package import Dispatch
import Synchronization

/// Something that happens once and that threads wait for, each with a time limit that no change of the wall clock moves.
///
/// On Linux a `DispatchSemaphore` waits until a moment of the wall clock (`sem_timedwait`): when that is set meanwhile,
/// it gives up at once or waits for a day. A `DispatchGroup` waits for a duration.
package final class Latch: Sendable {
  private let group = DispatchGroup()
  private let isOpen = Atomic(false)

  package init() { group.enter() }

  // A group must not end while it is entered.
  deinit { open() }

  /// Lets all threads through that wait, now and later.
  package func open() {
    if !isOpen.exchange(true, ordering: .acquiringAndReleasing) { group.leave() }
  }

  /// Waits until it is open.
  ///
  /// - Returns: False if that took too long.
  package func wait(until deadline: DispatchTime) -> Bool { group.wait(timeout: deadline) == .success }

  package func wait(for limit: Duration) -> Bool { wait(until: DispatchTime(after: limit)) }
}
