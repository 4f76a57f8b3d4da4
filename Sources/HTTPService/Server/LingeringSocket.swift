import Dispatch
import Synchronization

/// A connection whose request was refused before its body was read, until its client has stopped sending.
///
/// A client that is still sending when the last descriptor is closed gets an error, and may give up before it reads the
/// reply. So what it sends is read and thrown away for a while, as RFC 9112, section 9.6, advises.
final class LingeringSocket: Sendable {
  /// How much a client may go on sending.
  private static let byteLimit = 64 << 20

  private let socket: ConnectionSocket
  private let bytes = Mutex(0)
  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead

  /// Begins; `completion` is called once, on the queue, when the socket is no longer needed.
  init(
    _ socket: ConnectionSocket, within duration: Duration, on queue: DispatchQueue,
    completion: @escaping @Sendable () -> Void
  ) {
    self.socket = socket
    socket.endSending()
    source = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: queue)
    // The source holds this object, and the descriptor, until it is cancelled.
    source.setEventHandler { self.discard() }
    source.setCancelHandler {
      completion()
      withExtendedLifetime(self) {}
    }
    source.activate()
    queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: DeadlineTimer.uptime(after: duration))) { [weak self] in
      self?.source.cancel()
    }
  }

  private func discard() {
    let count = socket.discard()
    let isOver = bytes.withLock { bytes in
      bytes += count ?? 0
      return count == nil || bytes > Self.byteLimit
    }
    if isOver { source.cancel() }
  }
}
