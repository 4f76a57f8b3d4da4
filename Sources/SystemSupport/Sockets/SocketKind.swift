import CLinux
import Glibc

/// The kind of a Unix socket.
package enum SocketKind: Sendable {
  case stream
  case datagram
  /// A connection that keeps the limits of messages.
  case sequencedPackets

  var number: Int32 {
    switch self {
    case .stream: Int32(SOCK_STREAM.rawValue)
    case .datagram: Int32(SOCK_DGRAM.rawValue)
    case .sequencedPackets: Int32(SOCK_SEQPACKET.rawValue)
    }
  }
}
