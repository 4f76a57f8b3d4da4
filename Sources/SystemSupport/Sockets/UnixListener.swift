import CLinux
import Glibc

/// A listening Unix stream socket, made here or passed by systemd. Accepting never blocks.
package final class UnixListener: Sendable {
  /// The path that clients connect to; nil when systemd made the socket.
  package let path: String?
  package let descriptor: FileDescriptor
  /// The socket file this listener made, so that it never removes another's.
  private let identity: FileIdentity?

  private struct FileIdentity: Equatable {
    let device: UInt64
    let inode: UInt64
  }

  /// Makes a socket at `path`, replacing one that a crashed process left behind.
  ///
  /// - Parameters:
  ///   - path: At most 107 bytes.
  ///   - mode: Who may connect: those with the right to write. Holds from the start, whatever the umask.
  ///   - backlog: How many clients may wait to be accepted; as many as the kernel lets if it is not given.
  /// - Throws: ``SystemError/Code/addressInUse`` when somebody answers there.
  package init(path: String, mode: UInt32, backlog: Int32 = Int32(SOMAXCONN)) throws(SystemError) {
    let address = try SocketAddress(path: path)
    descriptor = try .socket(.stream)
    let number = descriptor.number
    // The file gets the socket's own mode less the umask: nobody slips in between bind and chmod.
    try systemCall("fchmod", path) { fchmod(number, mode) }
    do {
      try systemCall("bind", path) { address.bind(number) }
    } catch  where error.code == .addressInUse {
      try Self.removeStaleSocket(at: path)
      try systemCall("bind", path) { address.bind(number) }
    }
    try systemCall("chmod", path) { chmod(path, mode) }
    try systemCall("listen", path) { listen(number, backlog) }
    try descriptor.setNonBlocking(true)
    self.path = path
    identity = try Self.identity(of: path)
  }

  /// Takes ownership of a listening socket, as systemd passes it.
  package init(adopting descriptor: consuming FileDescriptor) throws(SystemError) {
    let subject = descriptor.subject
    guard try descriptor.socketOption(SO_DOMAIN) == AF_UNIX, try descriptor.socketOption(SO_ACCEPTCONN) == 1,
      try descriptor.socketOption(SO_TYPE) == SocketKind.stream.number
    else {
      throw SystemError(
        .invalidArgument, call: "getsockopt", subject: subject,
        hint: "the socket unit needs ListenStream= with a path")
    }
    try descriptor.setNonBlocking(true)
    self.descriptor = descriptor
    path = nil
    identity = nil
  }

  /// Accepts one waiting client; its descriptor doesn't block either.
  ///
  /// - Returns: Nil when nobody is waiting any more.
  package func accept() throws(SystemError) -> FileDescriptor? {
    let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    while true {
      do {
        let client = try systemCall("accept4", path) { accept4(descriptor.number, nil, nil, flags) }
        return FileDescriptor(owning: client)
      } catch  where error.code == .wouldBlock {
        return nil
      } catch  where error.code == .init(rawValue: ECONNABORTED) {
        // This client has gone; the next one may be there.
        continue
      }
    }
  }

  /// Removes the socket file if it is still the one made here; safe to repeat.
  package func removeFile() throws(SystemError) {
    guard let path, let identity else { return }
    do {
      guard try Self.identity(of: path) == identity else { return }
      try systemCall("unlink", path) { unlink(path) }
    } catch  where error.code == .noEntry {
      return
    }
  }

  private static func removeStaleSocket(at path: String) throws(SystemError) {
    var status = stat()
    try systemCall("lstat", path) { lstat(path, &status) }
    guard FileStatus(status).kind == .socket else {
      throw SystemError(
        .exists, call: "bind", subject: path, hint: "it is not a socket; remove it or configure another path")
    }
    do {
      _ = try FileDescriptor.connect(toSocketAt: path)
    } catch  where error.code == .connectionRefused {
      try systemCall("unlink", path) { unlink(path) }
      return
    }
    throw SystemError(
      .addressInUse, call: "bind", subject: path,
      hint: "another process answers there; stop it or configure another path")
  }

  private static func identity(of path: String) throws(SystemError) -> FileIdentity {
    var status = stat()
    try systemCall("lstat", path) { lstat(path, &status) }
    return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}
