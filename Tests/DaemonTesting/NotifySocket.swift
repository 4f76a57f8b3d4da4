import Glibc
import Synchronization
import SystemSupport

/// Stands in for systemd's end of `NOTIFY_SOCKET`, and keeps what the daemon tells.
package final class NotifySocket: Sendable {
  package let path: String
  private let source: ReadableDescriptor
  private let received: Received

  /// The assignments received so far, such as `READY=1`, in order.
  package var assignments: [String] { received.lines }

  package init(path: String, handler: @escaping @Sendable () -> Void) throws {
    self.path = path
    unlink(path)
    let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw SystemError(.init(rawValue: errno), call: "socket") }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, size) }
    }
    guard result == 0, chmod(path, 0o777) == 0 else {
      close(number)
      throw SystemError(.init(rawValue: errno), call: "bind", subject: path)
    }
    let received = Received()
    self.received = received
    source = ReadableDescriptor(number) { number in
      received.add(Self.read(number))
      handler()
      return true
    }
  }

  deinit { source.cancel() }

  private static func read(_ number: Int32) -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self).split(separator: "\n").map(String.init)
  }
}

/// What has come so far.
private final class Received: Sendable {
  private let content = Mutex<[String]>([])

  var lines: [String] { content.withLock { $0 } }

  func add(_ lines: [String]) { content.withLock { $0 += lines } }
}
