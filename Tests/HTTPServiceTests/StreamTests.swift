import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTPService

@Suite("Bodies that come bit by bit")
struct StreamTests {
  /// Sends what it is given, and tells when it begins and ends.
  private final class Source: HTTPBodySource {
    private struct State {
      var stream: HTTPStream?
      var bytes: [UInt8] = []
      var isOver = false
    }

    private let state = Mutex(State())
    private let began: AsyncStream<Void>.Continuation
    private let ended: AsyncStream<Void>.Continuation
    let beginnings: AsyncStream<Void>
    let ends: AsyncStream<Void>
    /// True for one that always has more.
    private let isEndless: Bool

    init(isEndless: Bool = false) {
      self.isEndless = isEndless
      (beginnings, began) = AsyncStream.makeStream()
      (ends, ended) = AsyncStream.makeStream()
    }

    func begin(_ stream: HTTPStream) {
      state.withLock { $0.stream = stream }
      began.yield()
    }

    func end() { ended.yield() }

    func say(_ text: String, isLast: Bool = false) {
      let stream = state.withLock { state in
        state.bytes += Array(text.utf8)
        state.isOver = isLast
        return state.stream
      }
      stream?.wake()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPBodyPart {
      state.withLock { state in
        if isEndless { state.bytes = Array(repeating: 0x61, count: buffer.count) }
        if state.bytes.isEmpty { return state.isOver ? .end : .nothingYet }
        let part = state.bytes.prefix(buffer.count)
        buffer.copyBytes(from: part)
        state.bytes.removeFirst(part.count)
        return .bytes(part.count)
      }
    }
  }

  private func fixture(
    _ source: Source, _ change: (inout HTTPServerLimits) -> Void = { _ in }
  ) throws -> ServerFixture {
    try ServerFixture(change) { request in
      request.path == "/now" ? .now(.text("now")) : .stream(HTTPResponse(headers: ["Content-Type": "text/x"]), source)
    }
  }

  private func next(_ stream: AsyncStream<Void>) async throws {
    try await withTimeout { for await _ in stream { return } }
  }

  /// Reads until a text has come.
  private func read(_ client: RawClient, until end: String) async throws -> String {
    try await onThread {
      var text = ""
      while !text.contains(end), let piece = try client.readPiece() { text += String(decoding: piece, as: UTF8.self) }
      return text
    }
  }

  private static let request = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"

  @Test("A client gets each bit when it is there, while others are answered, and the end")
  func bits() async throws {
    let source = Source()
    let fixture = try fixture(source)
    let client = try fixture.connect()
    client.send(Self.request)
    try await next(source.beginnings)
    for number in 0..<50 {
      source.say("bit \(number);")
      #expect(try await read(client, until: "bit \(number);").contains("bit \(number);"))
      if number % 10 == 0 { #expect(try await fixture.send("GET", "/now").text == "now") }
    }
    source.say("last", isLast: true)
    #expect(try await onThread { try client.readToEnd() }.contains("last"))
    try await next(source.ends)
  }

  @Test("What comes before the client is there is sent, and so is more than a block")
  func large() async throws {
    let source = Source()
    source.say(String(repeating: "x", count: 300_000), isLast: true)
    let reply = try await fixture(source).send("GET", "/stream")
    #expect(reply.status == 200 && reply.body.count == 300_000)
  }

  @Test("The source hears of a client that has left, though nothing is sent")
  func left() async throws {
    let source = Source()
    let fixture = try fixture(source)
    var client: RawClient? = try fixture.connect()
    client?.send(Self.request)
    try await next(source.beginnings)
    source.say("hello")
    _ = try await read(try #require(client), until: "hello")
    client = nil
    try await next(source.ends)
    #expect(try await fixture.send("GET", "/now").text == "now")
  }

  @Test("A client that does not read is cut off; others are answered")
  func stalled() async throws {
    let source = Source(isEndless: true)
    let fixture = try fixture(source) { $0.requestTimeout = .seconds(3) }
    let client = try fixture.connect()
    client.send(Self.request)
    try await next(source.beginnings)
    #expect(try await fixture.send("GET", "/now").text == "now")
    try await next(source.ends)
  }

  @Test("There is an end to streams, so that others have connections; a stop ends them")
  func limit() async throws {
    let source = Source()
    let fixture = try fixture(source) { $0.streams = 1 }
    let client = try fixture.connect()
    client.send(Self.request)
    try await next(source.beginnings)
    let refused = try await fixture.send("GET", "/stream")
    #expect(refused.status == 503 && refused.errorCode == "too-busy")
    async let rest = onThread { try client.readToEnd() }
    try await fixture.stop()
    #expect(try await rest.contains("200 OK"))
  }
}
