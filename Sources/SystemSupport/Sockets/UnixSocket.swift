import CLinux
import Glibc

extension FileDescriptor {
  /// A new Unix socket, closed on exec.
  static func socket(_ kind: SocketKind) throws(SystemError) -> FileDescriptor {
    FileDescriptor(owning: try systemCall("socket") { Glibc.socket(AF_UNIX, kind.number | closeOnExec, 0) })
  }

  /// Two Unix sockets connected to each other, closed on exec.
  package static func socketPair(_ kind: SocketKind) throws(SystemError) -> DescriptorPair {
    var ends: [Int32] = [-1, -1]
    try systemCall("socketpair") { socketpair(AF_UNIX, kind.number | closeOnExec, 0, &ends) }
    return DescriptorPair(first: FileDescriptor(owning: ends[0]), second: FileDescriptor(owning: ends[1]))
  }

  /// Connects to a listening Unix stream socket; waits while its backlog is full.
  package static func connect(toSocketAt path: String) throws(SystemError) -> FileDescriptor {
    let address = try SocketAddress(path: path)
    let descriptor = try socket(.stream)
    try systemCall("connect", path) { address.connect(descriptor.number) }
    return descriptor
  }

  /// Shuts the connection down for everybody who shares it; the descriptor stays open.
  package func shutdown() throws(SystemError) {
    try systemCall("shutdown", subject) { Glibc.shutdown(number, Int32(SHUT_RDWR)) }
  }

  /// Reads an integer socket option.
  func socketOption(_ option: Int32) throws(SystemError) -> Int32 {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    try systemCall("getsockopt", subject) { getsockopt(number, SOL_SOCKET, option, &value, &length) }
    return value
  }

  /// Waits until the descriptor is ready for `events` (such as `POLLIN`), or has ended, or the deadline passes.
  ///
  /// Blocks its thread: not for the cooperative pool.
  func wait(for events: Int16, by deadline: Deadline) throws(SystemError) {
    var request = pollfd(fd: number, events: events, revents: 0)
    while true {
      // An interrupted poll is repeated by the gate, with what is left then.
      let count = try systemCall("poll", subject) { poll(&request, 1, deadline.pollTimeout) }
      if count > 0 { return }
      if deadline.hasPassed { throw SystemError(.timedOut, call: "poll", subject: subject) }
    }
  }

  private static var closeOnExec: Int32 { Int32(SOCK_CLOEXEC.rawValue) }
}

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

/// A Unix socket's path in the form the kernel takes.
struct SocketAddress {
  private var storage = sockaddr_un()

  /// - Throws: ``SystemError/Code/nameTooLong`` for more than 107 bytes.
  init(path: String) throws(SystemError) {
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, !bytes.contains(0) else {
      throw SystemError(.invalidArgument, call: "bind", subject: path, hint: "a socket needs a path")
    }
    let capacity = MemoryLayout.size(ofValue: storage.sun_path) - 1
    guard bytes.count <= capacity else {
      throw SystemError(
        .nameTooLong, call: "bind", subject: path, hint: "a socket's path can have at most \(capacity) bytes")
    }
    storage.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &storage.sun_path) { $0.copyBytes(from: bytes) }
  }

  func bind(_ descriptor: Int32) -> Int32 {
    withPointer { Glibc.bind(descriptor, $0, $1) }
  }

  func connect(_ descriptor: Int32) -> Int32 {
    withPointer { Glibc.connect(descriptor, $0, $1) }
  }

  private func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}

/// The process and user at the other end of a Unix socket, as the kernel noted them at connect.
package struct PeerCredentials: Hashable, Sendable {
  package let processID: Int32
  package let user: UInt32
  package let group: UInt32
  /// The supplementary groups, as far as the kernel tells them.
  package let groups: [UInt32]

  /// The credentials of a made-up peer.
  package init(processID: Int32, user: UInt32, group: UInt32, groups: [UInt32] = []) {
    (self.processID, self.user, self.group, self.groups) = (processID, user, group, groups)
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
    groups = try Self.supplementaryGroups(of: number)
  }

  /// The groups that the peer had when it connected, which the user database may not know: those of a systemd unit are its own.
  private static func supplementaryGroups(of socket: Int32) throws(SystemError) -> [UInt32] {
    var groups = [UInt32](repeating: 0, count: 32)
    // The kernel tells how many there are, if there is no room for them.
    while true {
      let size = groups.count * MemoryLayout<UInt32>.stride
      var length = socklen_t(size)
      let result = groups.withUnsafeMutableBytes {
        getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, $0.baseAddress, &length)
      }
      let error = errno
      let count = Int(length) / MemoryLayout<UInt32>.stride
      if result == 0 { return Array(groups.prefix(count)) }
      guard error == ERANGE, count > groups.count else {
        throw SystemError(
          .init(rawValue: error), call: "getsockopt", subject: FileDescriptor.subject(of: socket))
      }
      groups = [UInt32](repeating: 0, count: count)
    }
  }
}
