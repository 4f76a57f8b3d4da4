import Foundation
import Glibc

/// How many descriptors this process has for sockets bound to a path: a listener, and the server's connections.
func socketCount(boundTo path: String) throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
    var address = sockaddr_un()
    var length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(Int32(name) ?? -1, $0, &length) }
    }
    guard result == 0, address.sun_family == AF_UNIX else { return false }
    return withUnsafeBytes(of: &address.sun_path) { $0.starts(with: Array(path.utf8) + [0]) }
  }
}
