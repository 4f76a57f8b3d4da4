import Foundation
import HTTPService
import Synchronization
import TestSupport
import Testing

@Suite("Documents that are made while they are sent")
struct StreamedReplyTests {
  /// Sends blocks of letters, then ends, is broken off, or has nothing more.
  private final class Letters: HTTPBodySource {
    enum End: Sendable { case complete, broken, silence }

    static let size = 1 << 20
    let isDocument = true
    private let left = Mutex(Letters.size)
    private let last: End
    private let over: AsyncStream<Int>.Continuation

    /// - Parameter over: told how many bytes were not asked for, when it is over.
    init(_ last: End, over: AsyncStream<Int>.Continuation) {
      (self.last, self.over) = (last, over)
    }

    func begin(_ stream: HTTPStream) {}

    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPBodyPart {
      let count = left.withLock { left in
        let count = min(left, buffer.count)
        left -= count
        return count
      }
      if count == 0 { return last == .complete ? .end : last == .broken ? .brokenOff : .nothingYet }
      buffer.prefix(count).copyBytes(from: repeatElement(UInt8(ascii: "a"), count: count))
      return .bytes(count)
    }

    func end() { over.yield(left.withLock { $0 }) }
  }

  private let ends: AsyncStream<Int>
  private let end: AsyncStream<Int>.Continuation

  init() { (ends, end) = AsyncStream.makeStream() }

  /// A server that decides on its reply later.
  private func fixture(
    _ last: Letters.End, _ change: (inout HTTPServerLimits) -> Void = { _ in }
  ) throws -> ServerFixture {
    try ServerFixture(change) { [end] request in
      if request.path == "/now" { return .now(.text("now")) }
      return .later { responder in
        var response = HTTPResponse(headers: ["Content-Type": "text/plain"])
        response.source = Letters(last, over: end)
        responder.respond(response)
      }
    }
  }

  private func left() async throws -> Int? {
    try await withTimeout { [ends] in await ends.first { _ in true } }
  }

  @Test("One that is answered later arrives whole; who asks for the head gets that alone")
  func whole() async throws {
    let fixture = try fixture(.complete)
    #expect(try await fixture.send("GET", "/").body.count == Letters.size)
    #expect(try await left() == 0)
    #expect(try await fixture.send("HEAD", "/").body.isEmpty)
    #expect(try await left() == Letters.size)
    try await fixture.stop()
  }

  @Test("One that can't be made to its end is broken off, so that its client notices")
  func brokenOff() async throws {
    let fixture = try fixture(.broken)
    await #expect(throws: (any Error).self) { try await fixture.send("GET", "/") }
    #expect(try await fixture.send("GET", "/now").text == "now")
    try await fixture.stop()
  }

  @Test("A stop breaks it off, and does not look like its end")
  func stopped() async throws {
    let fixture = try fixture(.silence)
    let client = try fixture.connect()
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    let text = try await onThread {
      var text = ""
      while text.utf8.count < Letters.size, let piece = try client.readPiece() {
        text += String(decoding: piece, as: UTF8.self)
      }
      return text
    }
    #expect(text.utf8.count >= Letters.size)
    async let rest = onThread { try client.readToEnd() }
    try await fixture.stop()
    #expect(try await !rest.hasSuffix("0\r\n\r\n"))
  }

  @Test("Its client may take its time, but not for ever")
  func slow() async throws {
    let fixture = try fixture(.complete) {
      $0.requestTimeout = .seconds(3)
      $0.documentTimeout = .seconds(4)
    }
    let client = try fixture.connect()
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    let unread = try await left()
    #expect((unread ?? 0) > 0)
    withExtendedLifetime(client) {}
  }
}
