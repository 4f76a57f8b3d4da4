import ControlClient
import Foundation
import Glibc
import HTTPService
import SystemSupport
import TestSupport
import Testing

@Suite("The control client")
struct ControlClientTests {
  private func code(of path: String, timeout: Duration = .seconds(20)) async throws -> ControlClientError.Code {
    let client = ControlClient(socketPath: path)
    let error = try await onThread {
      #expect(throws: ControlClientError.self) { try client.send("GET", "/", timeout: timeout) }
    }
    #expect(error?.description.contains(path) == true)
    return try #require(error).code
  }

  @Test("A missing socket, one without a listener and a socket path that is too long are told apart")
  func unreachable() async throws {
    let directory = try TemporaryDirectory()
    #expect(try await code(of: directory.path("missing")) == .socketMissing)
    #expect(try await code(of: directory.path(String(repeating: "x", count: 120))) == .badRequest)
    // As many bytes as the kernel has room for, and one more.
    for (length, expected) in [(107, ControlClientError.Code.socketMissing), (108, .badRequest)] {
      let name = String(repeating: "x", count: length - directory.path.utf8.count - 1)
      #expect(try await code(of: directory.path(name)) == expected, "\(length)")
    }
    let old = try UnixListener(path: directory.path("old"), mode: 0o600)
    try old.descriptor.shutdown()
    #expect(try await code(of: directory.path("old")) == .connectionRefused)
  }

  @Test(
    "A server that doesn't speak HTTP, says nothing, or closes early is told apart",
    arguments: [
      ("SSH-2.0-OpenSSH\r\n", true, ControlClientError.Code.notHTTP), ("", true, .connectionClosed),
      ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", true, .connectionClosed),
      ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", false, .timedOut),
    ])
  func strangeServers(reply: String, closes: Bool, expected: ControlClientError.Code) async throws {
    let directory = try TemporaryDirectory()
    let listener = try UnixListener(path: directory.path("s"), mode: 0o600)
    try listener.descriptor.setNonBlocking(false)
    async let code = code(of: directory.path("s"), timeout: closes ? .seconds(20) : .milliseconds(300))
    let client = try await onThread {
      let client = try RawClient.accepted(by: listener)
      _ = try client.readPiece()
      client.send(reply)
      return closes ? nil : client
    }
    #expect(try await code == expected)
    withExtendedLifetime(client) {}
  }

  @Test("A reply over the limit is refused")
  func tooLarge() async throws {
    let fixture = try ServerFixture { _ in .now(.text("0123456789")) }
    let client = ControlClient(socketPath: fixture.path, maximumReplyBytes: 9)
    let error = try await onThread { #expect(throws: ControlClientError.self) { try client.send("GET", "/") } }
    #expect(error?.code == .replyTooLarge)
  }

  @Test(
    "What can't be a request is refused before anything is sent", arguments: ["", "v1", "/a b", "/ü", "/a?b", "/a\n"])
  func badPath(path: String) {
    let error = #expect(throws: ControlClientError.self) {
      try ControlClient(socketPath: "/nonexistent").send("GET", path)
    }
    #expect(error?.code == .badRequest)
  }

  @Test("Plain components become one encoded path")
  func path() {
    #expect(ControlClient.path("v1", "jobs", "a/b ü?#%") == "/v1/jobs/a%2Fb%20%C3%BC%3F%23%25")
  }
}
