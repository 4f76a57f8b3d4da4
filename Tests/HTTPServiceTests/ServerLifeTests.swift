import Dispatch
import Foundation
import HTTPService
import SystemSupport
import TestSupport
import Testing

@Suite("A server's life")
struct ServerLifeTests {
  @Test("The listening socket survives stopping, and another server takes over the clients that wait")
  func restart() async throws {
    let fixture = try ServerFixture { _ in .now(.text("first")) }
    #expect(try await fixture.send("GET", "/").text == "first")
    try await fixture.stop()
    let waiting = try fixture.connect()
    waiting.send("GET / HTTP/1.0\r\n\r\n")
    let second = try HTTPServer(listener: fixture.listener.descriptor) { _ in .now(.text("second")) }
    try second.start()
    #expect(try await onThread { try waiting.readToEnd() }.hasSuffix("second"))
    #expect(try await fixture.send("GET", "/").text == "second")
    try await onThread { second.stop() }
  }

  @Test("Stopping is safe before starting and twice; a server is started once")
  func phases() async throws {
    let fixture = try ServerFixture { _ in .now(.text("")) }
    let again = #expect(throws: HTTPServiceError.self) { try fixture.server.start() }
    #expect(again?.code == .usedUp)
    try await fixture.stop()
    try await fixture.stop()
    let stopped = #expect(throws: HTTPServiceError.self) { try fixture.server.start() }
    #expect(stopped?.code == .usedUp)
    let idle = try HTTPServer(listener: fixture.listener.descriptor) { _ in .now(.text("")) }
    idle.stop()
    let late = #expect(throws: HTTPServiceError.self) { try idle.start() }
    #expect(late?.code == .usedUp)
  }

  @Test("A thousand requests one after the other fit in a few connections and leave none open")
  func sequential() async throws {
    let fixture = try ServerFixture({ $0.connections = 32 }) { .now(.text($0.path)) }
    for number in 0..<1_000 {
      let reply = try await fixture.send("GET", "/\(number)")
      #expect(reply.text == "/\(number)")
    }
    try await fixture.stop()
    let count = try socketCount(boundTo: fixture.path)
    #expect(count == 1)
  }

  @Test("Two hundred clients at once all get their own answer, half of them later")
  func concurrent() async throws {
    let fixture = try ServerFixture({ limits in
      limits.connections = 256
      limits.connectionsPerUser = 256
      limits.waitingRequests = 256
    }) { request in
      guard request.query("later") != nil else { return .now(.text(request.path)) }
      return .later { responder in
        DispatchQueue.global().async { responder.respond(.text(request.path)) }
      }
    }
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        let query = number % 2 == 0 ? [] : [URLQueryItem(name: "later", value: nil)]
        group.addTask { try await fixture.send("GET", "/\(number)", query: query).text == "/\(number)" }
      }
      for try await isRight in group { #expect(isRight) }
    }
    try await fixture.stop()
    let count = try socketCount(boundTo: fixture.path)
    #expect(count == 1)
  }
}
