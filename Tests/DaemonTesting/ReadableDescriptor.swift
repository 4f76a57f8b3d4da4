import Glibc
import Synchronization
import SystemSupport

/// Reads a descriptor whenever there is something to read, until its end or until nobody wants it any more.
///
/// Not with a source of Dispatch, which would end the tests now and then; see ``ReadinessThread``.
final class ReadableDescriptor: Sendable {
  private struct State {
    var wait: ReadinessThread.Wait?
    var isCancelled = false
  }

  private let number: Int32
  private let read: @Sendable (Int32) -> Bool
  private let state = Mutex(State())

  /// Takes over a descriptor.
  ///
  /// - Parameter read: reads once; returns false at the end.
  init(_ number: Int32, read: @escaping @Sendable (Int32) -> Bool) {
    self.number = number
    self.read = read
    arm()
  }

  /// Closes the descriptor, at once or when the call that is under way is over.
  func cancel() {
    let mustClose = state.withLock { state in
      if state.isCancelled { return false }
      state.isCancelled = true
      // Without a wait the call is under way, and closes it.
      return state.wait.map { ReadinessThread.shared.cancel($0) } ?? false
    }
    if mustClose { close(number) }
  }

  private func arm() {
    let mustClose = state.withLock { state in
      if state.isCancelled { return true }
      // Only a lack of memory could prevent it, and then the test's wait runs out.
      state.wait = try? ReadinessThread.shared.whenReadable(number) { self.readAndArm() }
      return false
    }
    if mustClose { close(number) }
  }

  private func readAndArm() {
    state.withLock { $0.wait = nil }
    if !read(number) { state.withLock { $0.isCancelled = true } }
    arm()
  }
}
