import CLinux
import Glibc

/// The process and user at the other end of a Unix socket, as the kernel noted them at connect.
package struct PeerCredentials: Hashable, Sendable {
  package let processID: Int32
  package let user: UInt32
  package let group: UInt32

  /// The credentials of a made-up peer.
  package init(processID: Int32, user: UInt32, group: UInt32) {
    (self.processID, self.user, self.group) = (processID, user, group)
  }

  /// Reads the credentials from a connected Unix stream socket or socket pair.
  package init(of socket: borrowing FileDescriptor) throws(SystemError) {
    var credentials = linux_peer_credentials()
    var length = socklen_t(MemoryLayout<linux_peer_credentials>.size)
    let number = socket.number
    try systemCall("getsockopt", FileDescriptor.subject(of: number)) {
      getsockopt(number, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
    }
    processID = credentials.process
    user = credentials.user
    group = credentials.group
  }
}
