import Foundation
import Glibc
@testable import HTTPService
import SystemSupport
import TestSupport
import Testing

@Suite("Open files that come before a request")
struct PassedFilesTests {
  /// Answers with the contents of the files that came.
  private static let reader: HTTPHandler = { request in
    guard let passed = request.passed else { return .now(.text("none")) }
    if passed.count == 0 { return .now(.text("dropped")) }
    let texts = passed.read { numbers in
      numbers.map { number in
        let start = try? FileDescriptor.borrowing(number) { try $0.start(upTo: 100) }
        return start.map { String(decoding: $0, as: UTF8.self) } ?? "unreadable"
      }
    }
    return .now(.text(texts?.joined(separator: " ") ?? "none"))
  }

  private func file(_ text: String) throws -> FileDescriptor {
    let file = try FileDescriptor.inMemory(named: "file")
    try file.writeAll(Data(text.utf8))
    _ = lseek(file.number, 0, SEEK_SET)
    return file
  }

  @Test("They reach the first request of the connection in their order, and no other one")
  func order() async throws {
    let fixture = try ServerFixture({ $0.passedFiles = 4 }, handler: Self.reader)
    let socket = DescriptorSocket(try .connect(toSocketAt: fixture.path))
    let first = try file("one")
    let second = try file("two")
    try socket.send(Data("\r\n".utf8), descriptors: [first.number, second.number])
    let client = RawClient(owning: try socket.descriptor.duplicate())
    try client.limitWaits()
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    let text = try await onThread { try client.readToEnd() }
    let bodies = text.split(separator: "HTTP/1.1 200 OK").map { $0.split(separator: "\r\n\r\n").last ?? "" }
    #expect(bodies == ["one two", "none"], "\(text)")
  }

  @Test("They are closed if nobody takes them, there are too many, or they come with something else")
  func refused() async throws {
    let plain = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    let misplaced = String(decoding: PassedFiles.Misplaced.response.body, as: UTF8.self)
    for (limit, line, count, expected) in [
      (0, "\r\n", 1, "none"), (4, "\r\n", 5, "dropped"), (4, "\r\n", 1, "unreadable"), (4, "", 1, misplaced),
      (40, "\r\n", 33, misplaced),
    ] {
      let request = line + plain
      let fixture = try ServerFixture({ $0.passedFiles = limit }, handler: Self.reader)
      let socket = DescriptorSocket(try .connect(toSocketAt: fixture.path))
      let reader = try FileDescriptor.pipe().split { (reader, writer) throws in
        let writers = Array(repeating: writer.number, count: count)
        try DescriptorSocket.send(Data(request.utf8), descriptors: writers, over: socket.descriptor.number)
        return reader.relinquish()
      }
      let client = RawClient(owning: try socket.descriptor.duplicate())
      try client.limitWaits()
      let text = try await onThread { try client.readToEnd() }
      #expect(text.hasSuffix("\r\n\r\n\(expected)"), "\(limit) \(line) \(count): \(text)")
      // No writer is left, in the server either, which closes them on a thread of their own.
      let end = FileDescriptor(owning: reader)
      try await end.becomesReadable(withinSeconds: 20)
      var byte: UInt8 = 0
      #expect(read(end.number, &byte, 1) == 0)
    }
  }

  @Test("All connections together keep no more than the limit, and keep others when some are closed")
  func limit() async throws {
    let (requests, arriving) = AsyncStream<@Sendable () -> HTTPReply>.makeStream()
    let (responders, waiting) = AsyncStream<HTTPResponder>.makeStream()
    let fixture = try ServerFixture({ $0.passedFiles = 4 }) { request in
      guard request.target.path == "/wait" else { return Self.reader(request) }
      return .later(within: .seconds(60)) { responder in
        arriving.yield { Self.reader(request) }
        waiting.yield(responder)
      }
    }
    func send(_ count: Int, to path: String) throws -> RawClient {
      let socket = DescriptorSocket(try .connect(toSocketAt: fixture.path))
      let file = try file("x")
      try socket.send(Data("\r\n".utf8), descriptors: Array(repeating: file.number, count: count))
      let client = RawClient(owning: try socket.descriptor.duplicate())
      try client.limitWaits()
      client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      return client
    }
    func text(_ client: RawClient) async throws -> String {
      String(try await onThread { try client.readToEnd() }.suffix(7))
    }
    // The server has the first ones before others come.
    let first = try send(3, to: "/wait")
    let read = try #require(try await withTimeout { await requests.first { _ in true } })
    let responder = try #require(try await withTimeout { await responders.first { _ in true } })
    #expect(try await text(send(3, to: "/")) == "dropped")
    #expect(try await text(send(1, to: "/")).hasSuffix("\r\n\r\nx"))
    guard case .now(let reply) = read() else { throw SystemError(.invalidArgument, call: "read") }
    _ = responder.respond(reply)
    #expect(try await text(first).hasSuffix("x x x"))
    // Closed on a thread of their own.
    let deadline = ContinuousClock.now + .seconds(20)
    while try await text(send(4, to: "/")) != "x x x x" { try #require(ContinuousClock.now < deadline) }
  }

  @Test("Files that were read make room for others while their request waits", arguments: [false, true])
  func waiting(isLimitOfUser: Bool) async throws {
    let (responders, waiting) = AsyncStream<HTTPResponder>.makeStream()
    let fixture = try ServerFixture(
      { ($0.passedFiles, $0.passedFilesPerUser) = isLimitOfUser ? (9, 1) : (1, 9) }
    ) { request in
      guard let passed = request.passed, passed.count > 0 else { return .now(.text("dropped")) }
      _ = passed.read { _ in }
      if request.target.path != "/wait" { return .now(.text("read")) }
      return .later(within: .seconds(60)) { waiting.yield($0) }
    }
    func send(_ path: String) throws -> RawClient {
      let socket = DescriptorSocket(try .connect(toSocketAt: fixture.path))
      let file = try file("x")
      try socket.send(Data("\r\n".utf8), descriptors: [file.number])
      let client = RawClient(owning: try socket.descriptor.duplicate())
      try client.limitWaits()
      client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      return client
    }
    let first = try send("/wait")
    let responder = try #require(try await withTimeout { await responders.first { _ in true } })
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      let client = try send("/")
      if try await onThread({ try client.readToEnd() }).hasSuffix("read") { break }
      try #require(ContinuousClock.now < deadline)
    }
    _ = responder.respond(.text("done"))
    #expect(try await onThread { try first.readToEnd() }.hasSuffix("done"))
  }

  @Test("A client that says nothing is cut at its deadline, and keeps no server from stopping")
  func silent() async throws {
    let fixture = try ServerFixture({ ($0.passedFiles, $0.requestTimeout) = (4, .seconds(1)) }, handler: Self.reader)
    let silent = try fixture.connect()
    #expect(try await fixture.send("GET", "/").text == "none")
    #expect(try await onThread { try silent.readToEnd() }.isEmpty)
    let other = try fixture.connect()
    #expect(try await fixture.send("GET", "/").text == "none")
    try await fixture.stop()
    #expect(try await onThread { try other.readToEnd() }.isEmpty)
  }
}
