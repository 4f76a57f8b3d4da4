import Foundation
import HTTPService
import Synchronization
import TestSupport
import Testing

@Suite("Later replies")
struct LaterReplyTests {
  /// Keeps responders and tells when one comes.
  private final class Inbox: Sendable {
    let responders = Mutex<[HTTPResponder]>([])
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init() {
      (arrivals, arrival) = AsyncStream.makeStream()
    }

    func put(_ responder: HTTPResponder) {
      responders.withLock { $0.append(responder) }
      arrival.yield()
    }

    func drain() -> [HTTPResponder] {
      responders.withLock { responders in
        defer { responders = [] }
        return responders
      }
    }

    func waitForArrivals(_ count: Int) async throws {
      try await withTimeout { [arrivals] in
        var left = count
        for await _ in arrivals {
          left -= 1
          if left == 0 { return }
        }
      }
    }
  }

  private let inbox = Inbox()

  private func fixture(_ change: (inout HTTPServerLimits) -> Void = { _ in }) throws -> ServerFixture {
    try ServerFixture(change) { [inbox] request in
      request.path == "/now" ? .now(.text("now")) : .later { inbox.put($0) }
    }
  }

  @Test("Whoever observes a reply learns of the first answer only, even if nobody waits for it any more")
  func observed() async throws {
    let seen = Mutex<[Int]>([])
    let handler: HTTPHandler = { [inbox] request in
      let reply: HTTPReply = request.path == "/now" ? .now(.text("", status: 203)) : .later { inbox.put($0) }
      return reply.observed { response in seen.withLock { $0.append(response.status) } }
    }
    let fixture = try ServerFixture {
      $0.replyTimeout = .milliseconds(100)
    } handler: {
      handler($0)
    }
    #expect(try await fixture.send("GET", "/now").status == 203)
    #expect(try await fixture.send("GET", "/wait").status == 504)
    try await inbox.waitForArrivals(1)
    let responders = inbox.drain()
    #expect(responders.map { $0.respond(.text("", status: 201)) } == [false])
    #expect(responders.map { $0.respond(.text("", status: 202)) } == [false])
    #expect(seen.withLock { $0 } == [203, 201])
  }

  @Test("A request is answered when its responder is, and only once, while others go on")
  func answered() async throws {
    let fixture = try fixture()
    async let waiting = fixture.send("POST", "/wait", body: Data("x".utf8))
    try await inbox.waitForArrivals(1)
    #expect(try await fixture.send("GET", "/now").text == "now")
    let responder = try #require(inbox.drain().first)
    #expect(responder.respond(.text("done", status: 201)))
    #expect(!responder.respond(.text("again")))
    #expect(try await waiting == Reply(status: 201, body: Data("done".utf8)))
  }

  @Test("A responder may answer before its handler returns")
  func answeredAtOnce() async throws {
    let fixture = try ServerFixture { _ in .later { $0.respond(.text("at once")) } }
    for _ in 0..<200 { #expect(try await fixture.send("GET", "/").text == "at once") }
  }

  @Test("A responder that is given up answers with an error")
  func givenUp() async throws {
    let fixture = try ServerFixture { _ in .later { _ in } }
    let reply = try await fixture.send("GET", "/")
    #expect(reply.status == 500)
    #expect(reply.errorCode == "internal")
  }

  @Test("A request without an answer ends with a timeout; the answer that comes later is dropped")
  func timeout() async throws {
    let fixture = try fixture { $0.replyTimeout = .milliseconds(100) }
    let reply = try await fixture.send("GET", "/wait")
    #expect(reply.status == 504)
    #expect(reply.errorCode == "timeout")
    #expect(inbox.drain().map { $0.respond(.text("late")) } == [false])
  }

  @Test("A handler's own time limit comes before the server's")
  func ownTimeout() async throws {
    let fixture = try ServerFixture { [inbox] _ in .later(within: .milliseconds(50)) { inbox.put($0) } }
    #expect(try await fixture.send("GET", "/").status == 504)
  }

  @Test("Waiting requests over the limit are refused at once")
  func tooMany() async throws {
    let fixture = try fixture { $0.waitingRequests = 2 }
    async let first = fixture.send("GET", "/wait")
    async let second = fixture.send("GET", "/wait")
    try await inbox.waitForArrivals(2)
    #expect(try await fixture.send("GET", "/wait").errorCode == "too-busy")
    for responder in inbox.drain() { responder.respond(.text("done")) }
    #expect(try await [first.text, second.text] == ["done", "done"])
  }

  @Test("Clients that vanish while they wait leave nothing behind")
  func vanished() async throws {
    let fixture = try fixture { $0.replyTimeout = .milliseconds(200) }
    for _ in 0..<20 {
      let client = try fixture.connect()
      client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
      try await inbox.waitForArrivals(1)
    }
    // Half are answered into the void, the others run into their deadline.
    for responder in inbox.drain().prefix(10) { responder.respond(.text("nobody there")) }
    #expect(try await fixture.send("GET", "/wait").status == 504)
    try await fixture.stop()
    let count = try socketCount(boundTo: fixture.path)
    #expect(count == 1)
  }

  @Test("A client that goes while its request waits is noticed at once, and its connection is closed")
  func noticed() async throws {
    let (ends, end) = AsyncStream<Bool>.makeStream()
    let fixture = try ServerFixture({ $0.connections = 2 }) { request in
      if request.path == "/now" { return .now(.text("now")) }
      return .later { [inbox] responder in
        responder.whenOver { [weak responder] in end.yield(responder?.isWaiting ?? false) }
        inbox.put(responder)
      }
    }
    // More than there are places, one after the other.
    for _ in 0..<8 {
      var client: RawClient? = try fixture.connect()
      client?.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
      try await inbox.waitForArrivals(1)
      client = nil
      let isWaiting = try await withTimeout { await ends.first { _ in true } }
      #expect(isWaiting == false)
    }
    #expect(inbox.drain().map { $0.respond(.text("late")) } == Array(repeating: false, count: 8))
    #expect(try await fixture.send("GET", "/now").text == "now")
    try await fixture.stop()
    #expect(try socketCount(boundTo: fixture.path) == 1)
  }

  @Test("A client that has only ended its sending gets its reply")
  func halfClosed() async throws {
    let fixture = try fixture()
    // The library treats the oldest of its connections in another way than the others.
    let oldest = try fixture.connect()
    oldest.send("GET /now HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try await onThread { try oldest.readPiece() } != nil)
    let clients = try (0..<3).map { _ in try fixture.connect() }
    for client in clients {
      client.send("GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      try await inbox.waitForArrivals(1)
      client.endSending()
    }
    #expect(try await fixture.send("GET", "/now").text == "now")
    for responder in inbox.drain() { #expect(responder.respond(.text("done"))) }
    for client in clients { #expect(try await onThread { try client.readToEnd() }.hasSuffix("done")) }
    // Others are served as before, on connections that stay.
    oldest.send("GET /now HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try await onThread { try oldest.readPiece() } != nil)
    try await fixture.stop()
  }

  @Test("Stopping answers waiting requests, keeps late answers harmless and ends in time")
  func stopping() async throws {
    let fixture = try fixture { $0.stopTimeout = .seconds(30) }
    // A client that never ends its request doesn't hold up the end either; it is accepted before the others.
    let silent = try fixture.connect()
    silent.send("GET / HT")
    let tasks = (0..<10).map { _ in Task { try await fixture.send("GET", "/wait") } }
    try await inbox.waitForArrivals(10)
    let clock = ContinuousClock()
    let duration = try await clock.measure { try await fixture.stop() }
    #expect(duration < .seconds(20))
    for task in tasks { #expect(try await task.value.errorCode == "stopping") }
    #expect(inbox.drain().allSatisfy { !$0.respond(.text("late")) })
    #expect(try await onThread { try silent.readToEnd() }.isEmpty)
    let count = try socketCount(boundTo: fixture.path)
    #expect(count == 1)
  }
}
