import Dispatch
import Foundation
import HTTPService
import TestSupport
import Testing

@Suite("Misbehaving clients")
struct MisbehavingClientTests {
  @Test(
    "A request that could mean two things is refused, as JSON",
    arguments: [
      ("GET /../etc HTTP/1.1\r\nHost: x\r\n\r\n", "400", "bad-request"),
      ("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", "400", "bad-request"),
      ("GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "400", "bad-request"),
      ("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "400", "bad-request"),
      ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411", "length-required"),
      (
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400",
        "bad-request"
      ),
      ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", "400", "bad-request"),
      ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nabcde", "400", "bad-request"),
      ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n", "413", "body-too-large"),
    ])
  func ambiguous(request: String, status: String, code: String) async throws {
    let fixture = try ServerFixture { _ in .now(.text("reached")) }
    let client = try fixture.connect()
    client.send(request.replacing("Host: x\r\n", with: "Host: x\r\nConnection: close\r\n"))
    let text = try await onThread { try client.readToEnd() }
    #expect(text.hasPrefix("HTTP/1.1 \(status) "))
    #expect(text.contains("{\"error\":{\"code\":\"\(code)\""))
    #expect(!text.contains("reached"))
  }

  @Test("A client that goes on sending a body that was refused is not stopped before it can read why")
  func unreadBody() async throws {
    let fixture = try ServerFixture({ $0.lingeringTimeout = .seconds(600) }) { _ in .now(.text("reached")) }
    let client = try fixture.connect()
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
    // The reply is there, and the library has closed its end, before the body is on its way.
    let head = try await onThread { try client.readToEnd() }
    #expect(head.hasPrefix("HTTP/1.1 413 "))
    let isTaken = try await onThread {
      (0..<30).allSatisfy { _ in client.send(String(repeating: "x", count: 100_000)) }
    }
    #expect(isTaken)
  }

  @Test(
    "Garbage never reaches the handler and never harms the server: the library answers it, in HTML, or waits for more",
    arguments: [
      ("\0\0\0\0\0\0\0\0\r\n\r\n", nil), ("\r\n\r\n\r\n\r\n\r\n", nil), ("GET\r\n\r\n", nil),
      ("\u{16}\u{3}\u{1}\u{2}\0\r\n\r\n", nil), ("GET /", "414 URI Too Long"), ("A", "414 URI Too Long"),
      ("GET / HTTP/1.1\r\nX: ", "431 Request Header Fields Too Large"),
      ("GET / HTTP/9.9\r\n\r\n", "505 HTTP Version Not Supported"),
      ("GET /\0/x HTTP/1.1\r\nno colon\r\n\r\n", "400 Bad Request"),
      ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request"),
    ])
  func garbage(start: String, status: String?) async throws {
    let fixture = try ServerFixture({ $0.requestTimeout = .seconds(5) }) { request in
      .now(.text(request.path == "/good" ? "good" : "reached"))
    }
    let client = try fixture.connect()
    client.send(start)
    // Those that were not refused yet go on until the header is full.
    if !start.hasSuffix("\r\n\r\n") { client.send(String(repeating: "A", count: 200_000)) }
    let text = try await onThread { try client.readToEnd() }
    // Nothing that could be a request is cut at the deadline, without a word.
    #expect(status.map { text.hasPrefix("HTTP/1.1 \($0)\r\n") && text.contains("<html>") } ?? text.isEmpty, "\(text)")
    #expect(!text.contains("reached"))
    #expect(try await fixture.send("GET", "/good").text == "good")
  }

  @Test(
    "Half a request is cut at its deadline without a reply", arguments: ["GET / HT", "POST / HTTP/1.1\r\nHost: x\r\n"])
  func half(start: String) async throws {
    let fixture = try ServerFixture({ $0.requestTimeout = .seconds(5) }) { _ in .now(.text("reached")) }
    let client = try fixture.connect()
    client.send(start)
    #expect(try await onThread { try client.readToEnd() }.isEmpty)
  }

  @Test("64 trickling clients don't hold up a good one and are cut at their deadline")
  func trickling() async throws {
    let fixture = try ServerFixture({ limits in
      limits.connectionsPerUser = 65
      limits.requestTimeout = .seconds(5)
    }) { _ in .now(.text("good")) }
    let clients = try (0..<64).map { _ in try fixture.connect() }
    for client in clients { client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n") }
    // The point of these clients is to say a little every now and then, which a timer does.
    let trickle = DispatchSource.makeTimerSource()
    trickle.setEventHandler { for client in clients { client.send("x") } }
    trickle.schedule(deadline: .now(), repeating: .milliseconds(20))
    trickle.activate()
    defer { trickle.cancel() }
    #expect(try await fixture.send("GET", "/").text == "good")
    try await withThrowingTaskGroup(of: String.self) { group in
      for client in clients { group.addTask { try await onThread { try client.readToEnd() } } }
      for try await text in group { #expect(text.isEmpty) }
    }
    #expect(try await fixture.send("GET", "/").text == "good")
  }

  @Test("A client that doesn't take in its reply is cut at the deadline, and its memory is free again")
  func notReading() async throws {
    let fixture = try ServerFixture({ limits in
      limits.connections = 1
      limits.requestTimeout = .seconds(5)
    }) { _ in .now(HTTPResponse(body: Data(count: 8 << 20))) }
    let client = try fixture.connect()
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    // What the kernel held for it arrives after the cut, and then the end: less than the whole reply.
    let watcher = try fixture.connect()
    #expect(try await onThread { try watcher.readToEnd() }.hasPrefix("HTTP/1.1 503 "))
    try await fixture.stop()
    #expect(try await onThread { try client.readToEnd() }.utf8.count < 8 << 20)
  }

  @Test("A user with too many connections gets status 503 until one is closed")
  func perUserLimit() async throws {
    let fixture = try ServerFixture({ limits in
      limits.connectionsPerUser = 2
      limits.requestTimeout = .seconds(5)
    }) { _ in .now(.text("good")) }
    let idle = try (0..<2).map { _ in try fixture.connect() }
    let third = try fixture.connect()
    let refusal = try await onThread { try third.readToEnd() }
    #expect(refusal.hasPrefix("HTTP/1.1 503 "))
    #expect(refusal.contains("\"code\":\"too-busy\""))
    for client in idle { #expect(try await onThread { try client.readToEnd() }.isEmpty) }
    #expect(try await fixture.send("GET", "/").text == "good")
  }
}
