import Dispatch
import Foundation
import Glibc
import HTTPService
import Synchronization
import SystemSupport
import TestSupport
import Testing

@Suite("Bodies that are written to a slow disk")
struct SlowBodyTests {
  /// A disk that takes nothing until it is opened.
  private final class SlowSink: HTTPBodySink {
    private let gate = DispatchSemaphore(value: 0)
    private let bytes = Mutex(Data())

    var content: Data { bytes.withLock { $0 } }

    func open() { gate.signal() }

    func append(_ piece: UnsafeRawBufferPointer) throws {
      // It is open from the first time on.
      guard gate.wait(timeout: .now() + .seconds(60)) == .success else { throw SystemError(.timedOut, call: "write") }
      gate.signal()
      bytes.withLock { $0.append(contentsOf: piece) }
    }
  }

  private let sink = SlowSink()

  private func fixture(_ change: (inout HTTPServerLimits) -> Void = { _ in }) throws -> ServerFixture {
    try ServerFixture(
      change, placeBody: { [sink] request, _ in request.path == "/sink" ? .sink(sink) : .memory },
      handler: { request in .now(.text("\((request.sink as? SlowSink)?.content.count ?? -1)")) })
  }

  private static let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

  /// Requests that have nothing to do with it are answered while it takes nothing; `make bench` has how soon.
  private func expectAnswersToOthers(_ fixture: ServerFixture) async throws {
    for _ in 0..<20 { #expect(try await fixture.send("GET", "/").text == "-1") }
  }

  @Test("One client waits for it, held up before its body fills the memory, and others are answered meanwhile")
  func others() async throws {
    let fixture = try fixture()
    let client = try fixture.connect()
    let isSent = Mutex(false)
    async let sending: Void = onThread {
      client.send("POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: \(Self.body.count)\r\nConnection: close\r\n\r\n")
      client.send(Self.body)
      isSent.withLock { $0 = true }
      // Whoever has said all may say so before the reply is there.
      client.endSending()
    }
    try await expectAnswersToOthers(fixture)
    #expect(!isSent.withLock { $0 })
    sink.open()
    #expect(try await onThread { try client.readToEnd() }.hasSuffix("\r\n\r\n\(Self.body.count)"))
    try await sending
    #expect(sink.content == Self.body)
  }

  @Test("A client that has sent all, and nothing more, is answered when the disk has it")
  func small() async throws {
    let fixture = try fixture()
    async let reply = fixture.send("POST", "/sink", body: Self.body.prefix(10_000), timeout: .seconds(120))
    try await expectAnswersToOthers(fixture)
    #expect(sink.content.isEmpty)
    sink.open()
    #expect(try await reply.text == "10000")
    #expect(sink.content == Self.body.prefix(10_000))
  }

  @Test("It is cut at its deadline, and keeps no server from stopping", arguments: [10_000, 3_000_000])
  func late(size: Int) async throws {
    let fixture = try fixture { $0.sinkTimeout = .seconds(1) }
    let client = try fixture.connect()
    client.send("POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
    async let sending: Void = onThread { client.send(Self.body.prefix(size)) }
    #expect(try await onThread { try client.readToEnd() }.isEmpty)
    try await sending
    let other = try fixture.connect()
    other.send("POST /sink HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789")
    #expect(try await fixture.send("GET", "/").text == "-1")
    try await fixture.stop()
    // It was told that the server stops, or was cut before it was read.
    let told = try await onThread { try other.readToEnd() }
    #expect(told.isEmpty || told.hasPrefix("HTTP/1.1 503 "), "\(told)")
    sink.open()
  }
}
