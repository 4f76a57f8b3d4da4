import Foundation
import Glibc
import HTTPService
import Synchronization
import SystemSupport
import TestSupport
import Testing

@Suite("The HTTP server")
struct HTTPServerTests {
  /// Answers with what it understood of the request.
  private static let echo: HTTPHandler = { request in
    var response = HTTPResponse.json([
      "method": request.method.rawValue, "path": request.target.components.joined(separator: "|"),
      "query": request.target.queryItems.map { "\($0.name)=\($0.value)" }.joined(separator: "|"),
      "body": String(decoding: request.body, as: UTF8.self), "type": request.headers["content-TYPE"] ?? "",
      "user": request.peer.map { "\($0.user) \($0.group) \($0.processID)" } ?? "",
    ])
    response.headers["X-Test"] = "yes"
    return .now(response)
  }

  private func fields(_ reply: Reply) throws -> [String: String] {
    try JSONDecoder().decode([String: String].self, from: reply.body)
  }

  @Test("A request's parts reach the handler, with the kernel's word on who sent it")
  func echo() async throws {
    let fixture = try ServerFixture(handler: Self.echo)
    let query = [URLQueryItem(name: "a b", value: "ü&=+"), URLQueryItem(name: "wait", value: nil)]
    let reply = try await fixture.send("POST", "/v1/a%2Fb", query: query, body: Data("hello".utf8))
    let fields = try fields(reply)
    #expect(reply.status == 200)
    #expect(fields["method"] == "POST")
    #expect(fields["path"] == "v1|a/b")
    #expect(fields["query"] == "a b=ü&=+|wait=")
    #expect(fields["body"] == "hello")
    #expect(fields["type"] == "application/json")
    #expect(fields["user"] == "\(getuid()) \(getgid()) \(getpid())")
  }

  @Test("Bodies of any size up to the limit arrive unchanged", arguments: [0, 1, 65_536, 1 << 20])
  func bodies(size: Int) async throws {
    let fixture = try ServerFixture { .now(HTTPResponse(body: $0.body)) }
    let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let reply = try await fixture.send("POST", "/", body: body)
    #expect(reply.status == 200)
    #expect(reply.body == body)
  }

  @Test("A body over the limit is refused before it is read", arguments: [1_025, 50_000])
  func tooLarge(size: Int) async throws {
    let fixture = try ServerFixture({ $0.bodyBytes = 1_024 }, handler: Self.echo)
    let reply = try await fixture.send("POST", "/", body: Data(count: size))
    #expect(reply.status == 413)
    #expect(reply.errorCode == "body-too-large")
    #expect(try await fixture.send("POST", "/", body: Data(count: 1_024)).status == 200)
  }

  /// Counts the bytes of a body, and takes no more than it has room for.
  private final class CountingSink: HTTPBodySink {
    struct Full: Error {}

    private let room: Int
    private let bytes = Mutex(0)

    init(room: Int) { self.room = room }

    var count: Int { bytes.withLock { $0 } }

    func append(_ piece: UnsafeRawBufferPointer) throws {
      bytes.withLock { $0 += piece.count }
      if count > room { throw Full() }
    }
  }

  @Test("A body may go to a sink, whatever its length, be refused before it is read, or find no room there")
  func sinks() async throws {
    let fixture = try ServerFixture(
      { $0.bodyBytes = 1_024 },
      placeBody: { request, length in
        switch request.path {
        case "/sink": .sink(CountingSink(room: 1_000_000))
        case "/refused": .refused(.failure(409, code: "no", message: "\(length)"))
        default: .memory
        }
      },
      handler: { request in
        let count = (request.sink as? CountingSink)?.count ?? -1
        return .now(.text("\(count) \(request.body.count)"))
      })
    let whole = try await fixture.send("POST", "/sink", body: Data(count: 1_000_000))
    #expect(whole.status == 200 && whole.body == Data("1000000 0".utf8))
    let tooLarge = try await fixture.send("POST", "/sink", body: Data(count: 1_000_001))
    #expect(tooLarge.status == 503 && tooLarge.errorCode == "storage-full")
    #expect(try await fixture.send("POST", "/refused", body: Data(count: 5_000)).status == 409)
    #expect(try await fixture.send("POST", "/other", body: Data(count: 5_000)).status == 413)
    #expect(try await fixture.send("POST", "/other", body: Data(count: 5)).body == Data("-1 5".utf8))
  }

  @Test("Replies tell nothing about the server and are not cached; HEAD has no body")
  func replyHeaders() async throws {
    let fixture = try ServerFixture { _ in .now(.text("0123456789")) }
    let client = try fixture.connect()
    client.send("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    let text = try await onThread { try client.readToEnd() }
    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(text.contains("\r\nContent-Length: 10\r\n"))
    #expect(text.contains("\r\nContent-Type: text/plain; charset=utf-8\r\n"))
    #expect(text.contains("\r\nCache-Control: no-store\r\n"))
    #expect(!text.lowercased().contains("\r\nserver:"))
    #expect(text.hasSuffix("\r\n\r\n"))
    #expect(try await fixture.send("HEAD", "/").body.isEmpty)
  }

  @Test("Several requests on one connection are answered in their order")
  func keepAlive() async throws {
    let fixture = try ServerFixture { .now(.text("<" + $0.path + ">")) }
    let client = try fixture.connect()
    client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
    client.send("GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    let text = try await onThread { try client.readToEnd() }
    #expect(text.split(separator: "<").dropFirst().map { $0.prefix(2) } == ["/1", "/2", "/3"])
  }

  @Test("A header field with a line break never reaches a client")
  func headerInjection() async throws {
    let fixture = try ServerFixture { _ in
      .now(HTTPResponse(headers: ["Location": "/x\r\nSet-Cookie: a=b"], body: Data("secret".utf8)))
    }
    let reply = try await fixture.send("GET", "/")
    #expect(reply.status == 500)
    #expect(reply.errorCode == "internal")
  }

  @Test("It serves TCP too, where nobody's user is known")
  func tcp() async throws {
    let listener = try LocalListener()
    let server = try HTTPServer(listener: listener.descriptor) { .now(.text($0.peer == nil ? "nobody" : "somebody")) }
    try server.start()
    let client = try listener.connect()
    client.send("GET / HTTP/1.0\r\n\r\n")
    #expect(try await onThread { try client.readToEnd() }.hasSuffix("\r\n\r\nnobody"))
  }

  @Test("What isn't a listening socket is refused")
  func notListening() throws {
    let pair = try FileDescriptor.socketPair(.stream)
    do {
      _ = try HTTPServer(listener: pair.first) { _ in .now(.text("")) }
      Issue.record("a server was made")
    } catch {
      #expect(error.code == .notListening)
    }
  }
}
