import ControlClient
import Foundation
import HTTPService
import SystemSupport
import TestSupport

/// A server on a fresh socket, with a client for it.
struct ServerFixture: Sendable {
  let directory: TemporaryDirectory
  let listener: UnixListener
  let server: HTTPServer

  init(
    _ change: (inout HTTPServerLimits) -> Void = { _ in }, placeBody: @escaping HTTPBodyPlacer = { _, _ in .memory },
    handler: @escaping HTTPHandler
  ) throws {
    var limits = HTTPServerLimits()
    change(&limits)
    directory = try TemporaryDirectory()
    listener = try UnixListener(path: directory.path("s"), mode: 0o600, backlog: 512)
    server = try HTTPServer(listener: listener.descriptor, limits: limits, placeBody: placeBody, handler: handler)
    try server.start()
  }

  var path: String { directory.path("s") }

  /// Sends a request from a thread of its own.
  func send(
    _ method: String, _ target: String, query: [URLQueryItem] = [], body: Data? = nil, timeout: Duration = .seconds(20)
  ) async throws -> Reply {
    let client = ControlClient(socketPath: path)
    return try await onThread {
      let (status, body) = try client.send(method, target, query: query, body: body, timeout: timeout)
      return Reply(status: status, body: body)
    }
  }

  /// Connects a client that says what the test likes.
  func connect() throws -> RawClient {
    try RawClient.connected(to: path)
  }

  /// Stops on a thread of its own, since stopping blocks.
  func stop() async throws {
    try await onThread { server.stop() }
  }
}
