import Foundation
import Glibc
import Synchronization
import TestSupport

/// Passes on what clients and a server on a Unix socket say, and cuts them off each other: at a commit, or for a while.
package final class CuttingProxy: Sendable {
  /// The moment of the cut.
  package enum Cut: Sendable, CaseIterable {
    /// What commits does not arrive.
    case beforeCommit
    /// It arrives, and the answer does not.
    case afterCommit
  }

  private let folder: TemporaryDirectory
  private let target: String
  private let listener: Int32
  private let cut = Mutex<Cut?>(nil)
  /// Locked while nothing is passed on.
  private let isolation = NSCondition()
  // Under the lock of `isolation`.
  private nonisolated(unsafe) var isIsolated = false

  /// The folder of the socket, as an address of the server.
  package var socketFolder: String { folder.path }

  /// - Parameter target: the folder of the server's socket.
  package init(to target: String) throws {
    folder = try TemporaryDirectory()
    self.target = target
    let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let isListening = Self.withAddress(folder.path(Self.socketName)) { bind(number, $0, $1) == 0 }
    listener = number
    guard isListening, listen(number, 16) == 0 else { throw TestDatabase.Failure(description: "no socket") }
    Thread.detachNewThread { [weak self] in
      while true {
        let client = accept(number, nil, nil)
        if client < 0 { return }
        if let self { connect(client) } else { close(client) }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private static let socketName = ".s.PGSQL.5432"

  /// Cuts the next transaction off.
  package func cutNext(_ moment: Cut) { cut.withLock { $0 = moment } }

  /// True once the cut was made.
  package var hasCut: Bool { cut.withLock { $0 == nil } }

  /// Passes nothing on from now on, in either direction, without closing anything: as a network that is gone.
  package func isolate() {
    isolation.withLock { isIsolated = true }
  }

  /// Lets new connections through again; those that have said something meanwhile are closed.
  package func restore() {
    isolation.withLock {
      isIsolated = false
      isolation.broadcast()
    }
  }

  /// Waits for the network; answers whether it was gone.
  private func waitForNetwork() -> Bool {
    isolation.withLock {
      let wasIsolated = isIsolated
      let limit = Date(timeIntervalSinceNow: 60)
      while isIsolated, isolation.wait(until: limit) {}
      return wasIsolated
    }
  }

  private static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  private func connect(_ client: Int32) {
    Thread.detachNewThread { [weak self, target] in
      defer { close(client) }
      _ = self?.waitForNetwork()
      let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(server) }
      if Self.withAddress("\(target)/\(Self.socketName)", { Glibc.connect(server, $0, $1) == 0 }) {
        self?.pass(client, server)
      }
    }
  }

  /// The other side may have gone, which is no reason for a signal.
  private static let quietly = Int32(MSG_NOSIGNAL)

  /// Passes bytes on in both directions until one side ends.
  private func pass(_ client: Int32, _ server: Int32) {
    var bytes = [UInt8](repeating: 0, count: 64 * 1024)
    var isDeaf = false
    while true {
      var entries = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: server, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&entries, 2, 600_000) > 0, !waitForNetwork() else { return }
      if entries[0].revents != 0 {
        let count = read(client, &bytes, bytes.count)
        if count <= 0 { return }
        let commits = String(decoding: bytes[..<count], as: UTF8.self).contains("COMMIT\0")
        let moment = commits ? cut.withLock { cut in cut.take() } : nil
        if moment == .beforeCommit { return }
        isDeaf = isDeaf || moment == .afterCommit
        if send(server, bytes, count, Self.quietly) != count { return }
      }
      if entries[1].revents != 0 {
        let count = read(server, &bytes, bytes.count)
        // The answer to the commit has come, so it is written.
        if count <= 0 || isDeaf { return }
        if send(client, bytes, count, Self.quietly) != count { return }
      }
    }
  }
}
