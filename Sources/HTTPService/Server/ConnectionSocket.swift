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
}
