import Glibc
import SystemSupport

/// A TCP socket that listens on a free port of this machine only.
final class LocalListener: Sendable {
  let descriptor: FileDescriptor
  private let port: UInt16

  init() throws {
    descriptor = try Self.socket()
    let number = descriptor.number
    port = try Self.withAddress(port: 0) { address, length in
      var length = length
      try systemCall("bind") { bind(number, address, length) }
      try systemCall("listen") { listen(number, 8) }
      try systemCall("getsockname") { getsockname(number, address, &length) }
    }
  }

  func connect() throws -> RawClient {
    let client = try Self.socket()
    let number = client.number
    _ = try Self.withAddress(port: port) { address, length in
      try systemCall("connect") { Glibc.connect(number, address, length) }
    }
    let connected = RawClient(owning: client)
    try connected.limitWaits()
    return connected
  }

  private static func socket() throws -> FileDescriptor {
    FileDescriptor(owning: try systemCall("socket") { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) })
  }

  /// Returns the port that is in the address afterwards.
  private static func withAddress(
    port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws -> Void
  ) rethrows -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = port.bigEndian
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try body(address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}
