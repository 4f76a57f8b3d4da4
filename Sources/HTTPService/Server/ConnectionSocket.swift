import Glibc
import SystemSupport

/// A second descriptor of a connection's socket, with which a deadline can cut it.
///
/// The library closes its own descriptor when it likes, and its number may be another client's a moment later. This one
/// stays ours, so cutting late is harmless.
final class ConnectionSocket: Sendable {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Ends the connection in both directions, for the library and the client.
  func cut() {
    // It can only fail because the client has already left, which is the aim.
    _ = shutdown(descriptor.number, Int32(SHUT_RDWR))
  }

  /// Valid while this object lives.
  var number: Int32 { descriptor.number }

  /// Ends our side; the client may go on sending.
  func endSending() {
    // As above.
    _ = shutdown(descriptor.number, Int32(SHUT_WR))
  }

  /// Discards some of what has arrived; returns the number of bytes, or nil when the client has closed.
  func discard() -> Int? {
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
      let count = recv(descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 { return count }
      return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : nil
    }
  }
}
