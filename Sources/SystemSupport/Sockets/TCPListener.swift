import CLinux
import Glibc

/// A listening TCP socket, made here or passed by systemd.
package final class TCPListener: Sendable {
  package let descriptor: FileDescriptor
  /// The address and port that it listens at, such as `127.0.0.1:26224` or `[::1]:26224`.
  package let address: String
  /// True if only this machine can connect.
  package let isLoopback: Bool

  /// Makes a socket.
  ///
  /// - Parameter address: An IPv4 address, or an IPv6 address in brackets, a colon and a port; port 0 for any free one.
  package convenience init(address text: String) throws(SystemError) {
    guard let address = InternetAddress(text) else {
      throw SystemError(
        .invalidArgument, call: "inet_pton", subject: text, hint: "an address is wanted, such as 127.0.0.1:26224")
    }
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = FileDescriptor(
      owning: try systemCall("socket", text) { Glibc.socket(Int32(address.storage.ss_family), kind, 0) })
    let number = descriptor.number
    // What is left of connections of a daemon before this one doesn't keep the address.
    var isOn: Int32 = 1
    try systemCall("setsockopt", text) {
      setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }
    try systemCall("bind", text) { address.bind(number) }
    try systemCall("listen", text) { listen(number, 128) }
    try self.init(adopting: descriptor)
  }

  /// Takes ownership of a listening socket, as systemd passes it.
  package init(adopting descriptor: consuming FileDescriptor) throws(SystemError) {
    let subject = descriptor.subject
    guard [AF_INET, AF_INET6].contains(try descriptor.socketOption(SO_DOMAIN)),
      try descriptor.socketOption(SO_ACCEPTCONN) == 1, try descriptor.socketOption(SO_TYPE) == SocketKind.stream.number
    else {
      throw SystemError(
        .invalidArgument, call: "getsockopt", subject: subject,
        hint: "the socket unit needs ListenStream= with an address and a port")
    }
    try descriptor.setNonBlocking(true)
    let local = try InternetAddress(of: descriptor)
    (address, isLoopback) = (local.description, local.isLoopback)
    self.descriptor = descriptor
  }
}

/// An IPv4 or IPv6 address with a port.
struct InternetAddress: CustomStringConvertible {
  private(set) var storage = sockaddr_storage()
  private var length: socklen_t

  /// Reads `127.0.0.1:80` or `[::1]:80`; nil for anything else, names among it.
  init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address.sin6_addr) == 1 else { return nil }
      length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in6.self) }
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      guard inet_pton(AF_INET, String(host), &address.sin_addr) == 1 else { return nil }
      length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
    }
  }

  /// The address that a socket is bound to.
  init(of socket: borrowing FileDescriptor) throws(SystemError) {
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let number = socket.number
    var (storage, length) = (self.storage, self.length)
    try systemCall("getsockname", socket.subject) {
      withUnsafeMutablePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &length) }
      }
    }
    (self.storage, self.length) = (storage, length)
  }

  func bind(_ socket: Int32) -> Int32 {
    withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(socket, $0, length) }
    }
  }

  var isLoopback: Bool {
    let host = description
    return host.hasPrefix("127.") || host.hasPrefix("[::1]")
  }

  var description: String {
    var (host, port) = ([CChar](repeating: 0, count: 64), [CChar](repeating: 0, count: 8))
    let flags = NI_NUMERICHOST | NI_NUMERICSERV
    let code = withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getnameinfo($0, length, &host, socklen_t(host.count), &port, socklen_t(port.count), flags)
      }
    }
    // Numbers need no resolver, so that this fails for other families only.
    guard code == 0 else { return "an unknown address" }
    let texts = [host, port].map {
      String(decoding: $0.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return Int32(storage.ss_family) == AF_INET6 ? "[\(texts[0])]:\(texts[1])" : "\(texts[0]):\(texts[1])"
  }
}
