import Dispatch
import Foundation
import HTTPService
import Synchronization
import TestSupport
import Testing

@Suite("Forms of replies")
struct ReplyFormTests {
  private static let long = String(repeating: "0123456789abcdef", count: 10_000)

  /// Sends a request with header fields, and returns the reply's head and the number of bytes of its body.
  private func ask(
    _ fixture: ServerFixture, _ path: String, method: String = "GET", _ fields: String...
  ) async throws -> (head: String, size: Int) {
    let client = try fixture.connect()
    let lines = ["\(method) \(path) HTTP/1.1", "Host: x", "Connection: close"] + fields
    client.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    // What is packed is no text, so that bytes are told by the length.
    let text = try await onThread { try client.readToEnd() }
    let head = String(text.split(separator: "\r\n\r\n", maxSplits: 1).first ?? "")
    return (head, head.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) } ?? -1)
  }

  private static func fixture() throws -> ServerFixture {
    try ServerFixture { request in
      switch request.path {
      case "/short": .now(.text("short"))
      case "/bits": .later { $0.respond(Bits.response) }
      case "/picture": .now(HTTPResponse(headers: ["Content-Type": "image/png"], body: Data(long.utf8)))
      case "/later": .later { $0.respond(.text(long)) }
      case "/medium": .now(.text(String(long.prefix(5_000))))
      case "/missing": .now(.text(long, status: 404))
      default: .now(.text(long))
      }
    }
  }

  /// A body that comes bit by bit.
  private final class Bits: HTTPBodySource {
    static var response: HTTPResponse {
      var response = HTTPResponse(headers: ["Content-Type": "text/csv"])
      response.source = Bits()
      return response
    }

    private let isRead = Mutex(false)

    func begin(_ stream: HTTPStream) {}

    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPBodyPart {
      let isRead = isRead.withLock { isRead in
        defer { isRead = true }
        return isRead
      }
      if isRead { return .end }
      buffer.copyBytes(from: "bits".utf8)
      return .bytes(4)
    }

    func end() {}
  }

  @Test("A body that comes bit by bit has no tag, and is sent whatever tags its client has")
  func streamed() async throws {
    let fixture = try Self.fixture()
    for tag in ["W/\"0-1-0\"", "*"] {
      let head = try await ask(fixture, "/bits", "If-None-Match: \(tag)", "Accept-Encoding: gzip").head
      #expect(head.hasPrefix("HTTP/1.1 200 ") && !head.contains("ETag") && !head.contains("Content-Encoding"), "\(tag)")
    }
  }

  @Test(
    "Long texts are packed for those who take that, whenever they are there", arguments: ["/now", "/later", "/medium"])
  func packed(path: String) async throws {
    let fixture = try Self.fixture()
    for coding in ["gzip", "deflate, gzip;q=0.5", "*", "GZIP"] {
      let reply = try await ask(fixture, path, "Accept-Encoding: \(coding)")
      #expect(reply.head.contains("\r\nContent-Encoding: gzip\r\n"), "\(coding)")
      #expect(reply.head.contains("\r\nVary: Accept-Encoding"))
      #expect(reply.size < 2_000)
    }
    for coding in ["", "br", "gzip;q=0", "gzip; q=0.000, *", "identity"] {
      let reply = try await ask(fixture, path, "Accept-Encoding: \(coding)")
      #expect(!reply.head.contains("Content-Encoding"), "\(coding)")
      #expect(reply.size >= 5_000)
    }
  }

  @Test("What is short or packed already stays as it is")
  func plain() async throws {
    let fixture = try Self.fixture()
    for path in ["/short", "/picture"] {
      #expect(!(try await ask(fixture, path, "Accept-Encoding: gzip")).head.contains("Content-Encoding"))
    }
  }

  @Test("Whoever has a reply is told so instead; changes and refusals have no tag")
  func tags() async throws {
    let fixture = try Self.fixture()
    let head = try await ask(fixture, "/now").head
    let tag = String(try #require(head.firstMatch(of: /\r\nETag: (W\/"[^"]+")/)?.1))
    for field in [tag, "\"a\", \(tag)", "*", String(tag.dropFirst(2))] {
      let reply = try await ask(fixture, "/now", "If-None-Match: \(field)")
      #expect(reply.head.hasPrefix("HTTP/1.1 304 ") && reply.head.contains("ETag: \(tag)"), "\(field)")
      #expect(reply.size <= 0)
    }
    #expect(try await ask(fixture, "/now", method: "HEAD", "If-None-Match: \(tag)").head.hasPrefix("HTTP/1.1 304 "))
    #expect(try await ask(fixture, "/medium", "If-None-Match: \(tag)").head.hasPrefix("HTTP/1.1 200 "))
    #expect(!(try await ask(fixture, "/now", method: "POST", "If-None-Match: \(tag)")).head.contains("ETag"))
    #expect(try await ask(fixture, "/missing", "If-None-Match: *").head.hasPrefix("HTTP/1.1 404 "))
  }
}
