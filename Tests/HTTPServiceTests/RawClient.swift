import Foundation
import Glibc
import SystemSupport

/// A client, or a server, that sends any bytes and reads what comes; it has no idea of HTTP.
final class RawClient: Sendable {
  private let descriptor: FileDescriptor

  init(owning descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  static func connected(to path: String) throws -> RawClient {
    let client = RawClient(owning: try FileDescriptor.connect(toSocketAt: path))
    try client.limitWaits()
    return client
  }

  /// The other end of the next client's connection.
  static func accepted(by listener: UnixListener) throws -> RawClient {
    guard let number = try listener.accept()?.relinquish() else { throw HTTPTestError("nobody connected") }
    let client = RawClient(owning: FileDescriptor(owning: number))
    try client.limitWaits()
    return client
  }

  /// Makes reading wait, but not for ever.
  func limitWaits() throws {
    try descriptor.setNonBlocking(false)
    let number = descriptor.number
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    try systemCall("setsockopt") {
      setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  /// Sends and reports whether the other side still took it.
  @discardableResult
  func send(_ text: String) -> Bool { send(Data(text.utf8)) }

  @discardableResult
  func send(_ data: Data) -> Bool {
    let bytes = Array(data)
    return Glibc.send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  /// Says that nothing more comes, and goes on reading.
  func endSending() { _ = shutdown(descriptor.number, Int32(SHUT_WR)) }

  /// Reads until the other side closes; throws when it doesn't within half a minute.
  func readToEnd() throws -> String {
    var text: [UInt8] = []
    while let piece = try readPiece() { text += piece }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads once, nil at the end.
  func readPiece() throws -> [UInt8]? {
    let number = descriptor.number
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(number, &buffer, buffer.count, 0)
    if count > 0 { return Array(buffer.prefix(count)) }
    guard count == 0 || errno == ECONNRESET else { throw SystemError(.init(rawValue: errno), call: "recv") }
    return nil
  }
}
