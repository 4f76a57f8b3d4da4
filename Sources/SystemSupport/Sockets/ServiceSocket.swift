import CLinux
import Glibc

/// A connection to a service at a Unix stream socket; the kernel says who speaks there.
///
/// No call blocks. What one end has written and the other has not read when it closes is lost, and the kernel says that,
/// too: ``SystemError/Code/connectionReset`` comes in place of the end.
package final class ServiceSocket: Sendable {
  private let descriptor: FileDescriptor

  /// Connects to a listening socket whose file was opened as a path only.
  ///
  /// - Throws: ``SystemError/Code/wouldBlock`` if as many clients wait there as may.
  package init(connectingTo file: borrowing FileDescriptor) throws(SystemError) {
    let socket = try FileDescriptor.socket(.stream)
    try socket.setNonBlocking(true)
    let number = socket.number
    // Before the service can say anything.
    var isOn: Int32 = 1
    try systemCall("setsockopt") {
      setsockopt(number, SOL_SOCKET, SO_PASSCRED, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }
    let address = try SocketAddress(path: file.procPath)
    let place = file.number
    try systemCall("connect", FileDescriptor.subject(of: place)) { address.connect(number) }
    descriptor = socket
  }

  private init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// The same connection, for somebody who writes while another reads.
  package func duplicate() throws(SystemError) -> ServiceSocket { ServiceSocket(try descriptor.duplicate()) }

  /// Reads once what one process has written.
  ///
  /// - Returns: The number of bytes, 0 at the end, and the process.
  package func receive(
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> (count: Int, sender: PeerCredentials?) {
    // Room for nothing else: the kernel drops descriptors that somebody sends along.
    let space = linux_cmsg_space(MemoryLayout<linux_peer_credentials>.size)
    let control = UnsafeMutableRawBufferPointer.allocate(byteCount: space, alignment: 16)
    defer { control.deallocate() }
    let number = descriptor.number
    var message = msghdr()
    message.msg_control = control.baseAddress
    message.msg_controllen = control.count
    var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
    let outcome = withUnsafeMutablePointer(to: &vector) { vector in
      message.msg_iov = vector
      message.msg_iovlen = 1
      return Swift.Result { () throws(SystemError) -> Int in
        try systemCall("recvmsg") { recvmsg(number, &message, Int32(MSG_CMSG_CLOEXEC)) }
      }
    }
    let count = try outcome.get()
    return (count, count > 0 ? PeerCredentials(in: &message) : nil)
  }

  /// Writes once.
  ///
  /// - Returns: The number of bytes written.
  /// - Throws: ``SystemError/Code/brokenPipe`` when the other end is closed (there is no SIGPIPE).
  package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
    try systemCall("send") { Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
  }

  /// The most that the kernel holds of what was written and not read, in bytes.
  ///
  /// It accounts for more than the bytes themselves and lets the last piece, of half the buffer at most, go beyond it
  /// (`unix_stream_sendmsg` of Linux).
  package func unreadLimit() throws(SystemError) -> Int {
    var (size, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    try systemCall("getsockopt") { getsockopt(descriptor.number, SOL_SOCKET, SO_SNDBUF, &size, &length) }
    return Int(size) + Int(size) / 2
  }

  /// Ends the writing: the service reads what was written, and then the end.
  package func endSending() throws(SystemError) {
    try systemCall("shutdown") { Glibc.shutdown(descriptor.number, Int32(SHUT_WR)) }
  }

  /// Ends the connection, also for duplicates; what has come can still be read.
  package func shutdown() throws(SystemError) { try descriptor.shutdown() }

  /// Waits until there is something to read or the connection has ended; ``shutdown()`` ends the wait.
  package func readable() async throws {
    try await ready { (call) throws(SystemError) in
      try ReadinessThread.shared.whenReadable(descriptor.number, call)
    }
  }

  /// Waits until there is room to write or the connection has ended; ``shutdown()`` ends the wait.
  package func writable() async throws {
    try await ready { (call) throws(SystemError) in
      try ReadinessThread.shared.whenWritable(descriptor.number, call)
    }
  }

  /// The callers keep the descriptor open during the wait.
  private func ready(
    _ begin: (@escaping @Sendable () -> Void) throws(SystemError) -> ReadinessThread.Wait
  ) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      do throws(SystemError) { _ = try begin { continuation.resume() } } catch { continuation.resume(throwing: error) }
    }
  }
}

extension PeerCredentials {
  /// The credentials that came with a message; nil if none did.
  fileprivate init?(in message: inout msghdr) {
    guard let header = linux_cmsg_first(&message), header.pointee.cmsg_level == SOL_SOCKET,
      // SCM_CREDENTIALS, which <sys/socket.h> names for _GNU_SOURCE only.
      header.pointee.cmsg_type == 2, let body = linux_cmsg_data(header)
    else { return nil }
    let credentials = body.loadUnaligned(as: linux_peer_credentials.self)
    self.init(processID: credentials.process, user: credentials.user, group: credentials.group)
  }
}
