import CLinux
import Glibc

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
