import Dispatch
import Synchronization
import SystemSupport

/// A connection whose request was refused before its body was read, until its client has stopped sending.
///
/// A client that is still sending when the last descriptor is closed gets an error, and may give up before it reads the
/// reply. So its data is read and discarded for a while, as RFC 9112, section 9.6, advises.
final class LingeringSocket: Sendable {
  /// The most bytes that a client may still send.
  private static let byteLimit = 64 << 20

  private struct State {
    var bytes = 0
    var wait: ReadinessThread.Wait?
    var isOver = false
  }

  private let socket: ConnectionSocket
  private let completion: @Sendable () -> Void
  private let state = Mutex(State())

  /// - Parameter completion: Called once when the socket is no longer needed.
  init(_ socket: ConnectionSocket, completion: @escaping @Sendable () -> Void) {
    self.socket = socket
    self.completion = completion
  }

  /// Begins, and ends after `duration` at the latest.
  func begin(within duration: Duration, on queue: DispatchQueue) {
    socket.endSending()
    waitForMore()
    queue.async(after: duration) { [weak self] in self?.end() }
  }

  private func waitForMore() {
    let isUnwatched = state.withLock { state in
      if state.isOver { return false }
      // The wait holds this object, and with it the descriptor.
      state.wait = try? ReadinessThread.shared.whenReadable(socket.number) { self.discard() }
      return state.wait == nil
    }
    if isUnwatched { end() }
  }

  private func discard() {
    let count = socket.discard()
    let isOver = state.withLock { state in
      state.bytes += count ?? 0
      return count == nil || state.bytes > Self.byteLimit || state.isOver
    }
    if isOver { end() } else { waitForMore() }
  }

  private func end() {
    let (wait, isFirst) = state.withLock { state in
      defer { state.isOver = true }
      return (state.wait.take(), !state.isOver)
    }
    if let wait { _ = ReadinessThread.shared.cancel(wait) }
    if isFirst { completion() }
  }
}
