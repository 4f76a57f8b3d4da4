import Glibc
import SystemSupport

/// A second descriptor of a connection's socket, with which a deadline can end it.
///
/// The library closes its own descriptor when it likes, and its number may be another client's a moment later. This one
/// stays ours, so that cutting late is harmless.
final class ConnectionSocket: Sendable {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Ends the connection in both directions: the library sees its end, the client too.
  func cut() {
    // It can only fail because the client has already gone, which is what is wanted.
    _ = shutdown(descriptor.number, Int32(SHUT_RDWR))
  }

  /// Valid while this object lives.
  var number: Int32 { descriptor.number }

  /// Tells the client that nothing more comes; it may go on sending.
  func endSending() {
    // As above.
    _ = shutdown(descriptor.number, Int32(SHUT_WR))
  }

  /// Throws away some of what has come; returns how many bytes, or nil when the client has ended or gone.
  func discard() -> Int? {
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
      let count = recv(descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 { return count }
      return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : nil
    }
  }
}
