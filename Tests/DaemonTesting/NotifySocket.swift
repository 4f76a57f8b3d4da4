import Dispatch
import Glibc
import Synchronization
import SystemSupport

/// Stands in for systemd's end of `NOTIFY_SOCKET`, and keeps what the daemon tells.
package final class NotifySocket: Sendable {
  package let path: String
  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead
  private let received = Mutex<[String]>([])

  /// The assignments received so far, such as `READY=1`, in order.
  package var assignments: [String] { received.withLock { $0 } }

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
    source = DispatchSource.makeReadSource(fileDescriptor: number, queue: DispatchQueue(label: "notify"))
    source.setEventHandler { [weak self] in
      let lines = Self.read(number)
      self?.received.withLock { $0 += lines }
      handler()
    }
    source.setCancelHandler { close(number) }
    source.activate()
  }

  deinit { source.cancel() }

  private static func read(_ number: Int32) -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
