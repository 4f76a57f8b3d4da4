import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct UnixListenerTests {
  let temporary: TemporaryDirectory
  var path: String { temporary.path("s.sock") }

  init() throws {
    temporary = try TemporaryDirectory()
  }

  @Test("A client is accepted and known by its credentials; nobody waiting is not an error")
  func accept() throws {
    let listener = try UnixListener(path: path, mode: 0o666)
    #expect(try temporary.open().status(of: "s.sock").mode == 0o666)
    #expect(try !listener.hasClient())
    let client = try FileDescriptor.connect(toSocketAt: path)
    guard let server = try listener.accept() else { throw Missing() }
    let peer = try PeerCredentials(of: server)
    #expect(peer.processID == Credentials.processID)
    #expect(peer.user == Credentials.effectiveUser)
    #expect(peer.group == Credentials.effectiveGroup)
    try server.writeAll(Data("hi".utf8))
    try server.shutdown()
    #expect(try client.readAll(limit: 10) == Data("hi".utf8))
    try listener.removeFile()
    try listener.removeFile()
    #expect(try temporary.open().entries().isEmpty)
  }

  @Test("A socket that a dead process left is replaced, one that answers is not")
  func staleSocket() async throws {
    // Here it could live on for a moment in a child that another test is just starting.
    await #expect(processExitsWith: .success) { [path = path as String] in
      _ = try UnixListener(path: path, mode: 0o600)
      exit(0)
    }
    #expect(try temporary.open().contains("s.sock"))
    let listener = try UnixListener(path: path, mode: 0o600)
    let error = #expect(throws: SystemError.self) { _ = try UnixListener(path: path, mode: 0o600) }
    #expect(error?.code == .addressInUse)
    #expect(error?.hint != nil)
    _ = try FileDescriptor.connect(toSocketAt: path)
    #expect(try listener.hasClient())
  }

  @Test("A file that isn't a socket is never removed")
  func notASocket() throws {
    try Data("precious".utf8).write(to: URL(filePath: path))
    #expect(#expect(throws: SystemError.self) { _ = try UnixListener(path: path, mode: 0o600) }?.code == .exists)
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("precious".utf8))
  }

  @Test("A listener doesn't remove the socket of its successor")
  func successor() throws {
    let old = try UnixListener(path: path, mode: 0o600)
    unlink(path)
    let new = try UnixListener(path: path, mode: 0o600)
    try old.removeFile()
    _ = try FileDescriptor.connect(toSocketAt: path)
    #expect(try new.hasClient())
  }

  @Test("A path too long for a socket is refused with the limit")
  func longPath() throws {
    let error = #expect(throws: SystemError.self) {
      _ = try UnixListener(path: "/" + String(repeating: "x", count: 107), mode: 0o600)
    }
    #expect(error?.code == .nameTooLong)
    #expect(error?.hint?.contains("107") == true)
  }

  @Test("A passed listening socket is adopted, anything else is refused")
  func adoption() throws {
    let listener = try UnixListener(path: path, mode: 0o600)
    let adopted = try UnixListener(adopting: listener.descriptor.duplicate())
    _ = try FileDescriptor.connect(toSocketAt: path)
    #expect(try adopted.hasClient())
    #expect(throws: SystemError.self) { _ = try UnixListener(adopting: .null()) }
    try FileDescriptor.socketPair(.stream).split { left, _ in
      _ = #expect(throws: SystemError.self) { _ = try UnixListener(adopting: left.duplicate()) }
    }
  }

  private struct Missing: Error {}
}

extension UnixListener {
  /// Whether a client was waiting; accepts and closes it.
  fileprivate func hasClient() throws -> Bool {
    if let client = try accept() { client.number >= 0 } else { false }
  }
}
