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
