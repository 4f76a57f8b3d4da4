internal import CMicroHTTPD
import Foundation
import Synchronization

/// The library's thread: from a request's first line to its reply.
extension ServerCore {
  /// Checks a request's header fields before its body arrives; returns nil to continue, or a refusal.
  func refusal(of exchange: Exchange, version: String) -> HTTPResponse? {
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
      return .failure(505, code: "version-not-supported", message: "only HTTP/1.1 and HTTP/1.0 are supported")
    }
    guard exchange.headers.fields.allSatisfy({ Self.isToken($0.name) }) else {
      return .badRequest("a header field has an invalid name")
    }
    let lengths = exchange.headers.values(of: "Content-Length")
    if exchange.headers["Transfer-Encoding"] != nil {
      // Both together, or several lengths, are how requests are smuggled past a proxy (RFC 9112, section 6.3).
      guard lengths.isEmpty else { return .badRequest("Content-Length and Transfer-Encoding exclude each other") }
      return .failure(
        411, code: "length-required", message: "Transfer-Encoding is not accepted", hint: "send a Content-Length")
    }
    guard lengths.count <= 1 else { return .badRequest("there is more than one Content-Length") }
    if let text = lengths.first {
      guard let length = UInt64(text), !text.hasPrefix("+") else {
        return .badRequest("Content-Length is not a number")
      }
      switch place(bodyOf: exchange, length) {
      case .refused(let response): return response
      case .sink(let sink):
        exchange.writer = heldBodies.writer(to: sink, of: exchange.connection)
        expectLargeBody(on: exchange.connection)
        return nil
      case .memory: break
      }
      guard length <= limits.bodyBytes else {
        return .failure(
          413, code: "body-too-large", message: "the body is larger than \(limits.bodyBytes) bytes",
          hint: "split it into several requests")
      }
    }
    return nil
  }

  private func place(bodyOf exchange: Exchange, _ length: UInt64) -> HTTPBodyPlace {
    // A malformed target is refused when the request is complete.
    guard let (text, client) = origin(of: exchange.connection), let target = HTTPTarget(text) else { return .memory }
    return placeBody(
      HTTPRequest(method: exchange.method, target: target, headers: exchange.headers, client: client), length)
  }

  /// Takes the next bytes of a body; false if it has more than it may.
  ///
  /// The announced length was checked, and no other way of sending a body is accepted.
  func take(_ bytes: UnsafeRawBufferPointer, of exchange: Exchange, on handle: OpaquePointer) -> Bool {
    guard let writer = exchange.writer else {
      guard bytes.count <= limits.bodyBytes - exchange.body.count else { return false }
      exchange.body.append(contentsOf: bytes)
      return true
    }
    writer.append(bytes)
    return heldBodies.hold(exchange, on: handle, atEnd: false) != .mayNotWait
  }

  /// True if a field name is a token (RFC 9110, section 5.6.2); the library is more lenient, which hides fields.
  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { 0x21...0x7e ~= $0 && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
  }

  /// Passes a complete request to the handler and hands its reply, now or later, to the library.
  func handle(_ exchange: Exchange, on handle: OpaquePointer) -> MHD_Result {
    let refusal: HTTPResponse?
    switch heldBodies.hold(exchange, on: handle, atEnd: true) {
    case .isHeld: return .YES
    case .goesOn: refusal = exchange.writer?.refusal
    case .mayNotWait: refusal = .stopping
    }
    dispatch(exchange)
    guard let (text, client) = origin(of: exchange.connection) else { return .NO }
    // They are for the first request, whatever becomes of that.
    let passed = passedFiles.take(of: exchange.connection)
    guard let target = HTTPTarget(text) else {
      return send(.badRequest("the request's path or query is malformed"), for: exchange, on: handle)
    }
    if let refusal { return send(refusal, for: exchange, on: handle) }
    let request = HTTPRequest(
      method: exchange.method, target: target, headers: exchange.headers, body: exchange.body,
      sink: exchange.writer?.sink, client: client, passed: passed)
    exchange.body = Data()
    exchange.writer = nil
    let form = ReplyForm(request.method, request.headers)
    switch handler(request) {
    case .now(let response) where response.body.count <= Self.largestFormedAtOnce:
      return send(form.apply(to: response), for: exchange, on: handle)
    case .now(let response):
      return wait(for: exchange, on: handle, form, within: nil) { [formingQueue] responder in
        formingQueue.async { responder.respond(response) }
      }
    case .later(let duration, let start):
      return wait(for: exchange, on: handle, form, within: duration, start: start)
    case .stream(let head, let source):
      return stream(source, under: head, for: exchange, on: handle)
    }
  }

  /// Replies that are longer are not brought into their form on the thread that serves everybody.
  private static let largestFormedAtOnce = 64 << 10

  private func wait(
    for exchange: Exchange, on handle: OpaquePointer, _ form: ReplyForm, within duration: Duration?,
    start: (HTTPResponder) -> Void
  ) -> MHD_Result {
    guard suspend(exchange, handle: handle, within: duration) else {
      return send(.tooBusy, for: exchange, on: handle)
    }
    exchange.phase = .suspended
    start(HTTPResponder(exchange: exchange.id, server: self, form: form))
    watchClient(of: exchange)
    return .YES
  }

  /// Gives a response to the library, which sends it as the client reads it.
  func send(_ response: HTTPResponse, for exchange: Exchange, on handle: OpaquePointer) -> MHD_Result {
    if let source = response.source { return stream(source, under: response, for: exchange, on: handle) }
    exchange.phase = .answered
    let closes = isStopping || !exchange.isDispatched
    if let message = LibraryResponse.make(response, closes: closes) { return message.queue(on: handle) }
    let apology = HTTPResponse.failure(500, code: "internal", message: "the reply had an invalid header field")
    return LibraryResponse.make(apology, closes: true)?.queue(on: handle) ?? .NO
  }
}

/// Bodies that come bit by bit.
extension ServerCore {
  private func stream(
    _ source: any HTTPBodySource, under head: HTTPResponse, for exchange: Exchange, on handle: OpaquePointer
  ) -> MHD_Result {
    let body = StreamedBody(source, of: exchange, on: handle, core: self)
    guard openStream(body) else { return send(.tooBusy, for: exchange, on: handle) }
    exchange.phase = .answered
    // The library reads from it only after this, on this thread.
    source.begin(HTTPStream(exchange: exchange.id, core: self))
    guard let message = LibraryResponse.make(head, streaming: body) else { return .NO }
    return message.queue(on: handle)
  }
}

extension HTTPResponse {
  static let stopping = failure(
    503, code: "stopping", message: "the server is stopping", hint: "try again in a moment")
  static let tooBusy = failure(
    503, code: "too-busy", message: "too many requests or connections are waiting", hint: "try again in a moment")

  static func badRequest(_ message: String) -> HTTPResponse {
    failure(400, code: "bad-request", message: message)
  }
}

/// A request on its way in and its reply on its way out, as the library's thread sees it; used on that thread only.
final class Exchange {
  enum Phase {
    /// Next: answered when refused, suspended or answered when complete.
    case receiving
    /// Next: answered.
    case suspended
    /// The reply is with the library.
    case answered
  }

  let id: UInt64
  let connection: UInt64
  let method: HTTPMethod
  let headers: HTTPHeaders
  var body = Data()
  /// The way to the place where its body goes, if that is not memory.
  var writer: BodyWriter?
  /// True if its client was held up since the library last called.
  var isHeld = false
  var phase = Phase.receiving
  /// True if stopping waits for the end of this exchange.
  var isDispatched = false

  init(id: UInt64, connection: UInt64, method: HTTPMethod, headers: HTTPHeaders) {
    self.id = id
    self.connection = connection
    self.method = method
    self.headers = headers
  }
}

/// A response in the library's form; it is released when this value and the last connection that sends it are done.
struct LibraryResponse: ~Copyable {
  private let handle: OpaquePointer
  private let status: UInt32

  private init(owning handle: OpaquePointer, status: UInt32) {
    self.handle = handle
    self.status = status
  }

  deinit {
    MHD_destroy_response(handle)
  }

  /// Copies a response; nil when a header field has characters that don't belong there, or without memory.
  static func make(_ response: HTTPResponse, closes: Bool) -> LibraryResponse? {
    precondition(200...599 ~= response.status, "\(response.status) is not the status of a final response")
    let handle = response.body.withUnsafeBytes { bytes in
      MHD_create_response_from_buffer(
        bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
    return make(handle, response, closes: closes)
  }

  /// Makes the response of a stream, under the head of another.
  static func make(_ head: HTTPResponse, streaming body: StreamedBody) -> LibraryResponse? {
    make(body.makeLibraryResponse(), head, closes: true)
  }

  private static func make(_ handle: OpaquePointer?, _ response: HTTPResponse, closes: Bool) -> LibraryResponse? {
    guard let handle else { return nil }
    let message = LibraryResponse(owning: handle, status: UInt32(response.status))
    var headers = response.headers
    if headers["Cache-Control"] == nil { headers["Cache-Control"] = "no-store" }
    if headers["Content-Type"] == nil, !response.body.isEmpty { headers["Content-Type"] = "application/octet-stream" }
    for field in HTTPResponse.guardHeaders.fields where headers[field.name] == nil {
      headers.add(field.name, field.value)
    }
    if closes { headers["Connection"] = "close" }
    // The library knows the length better, and refuses a second opinion.
    headers["Content-Length"] = nil
    for field in headers.fields {
      // A C string would end at a NUL and lose the rest of the value.
      let isText = !field.name.utf8.contains(0) && !field.value.utf8.contains(0)
      guard isText, MHD_add_response_header(handle, field.name, field.value) == .YES else { return nil }
    }
    return message
  }

  borrowing func queue(on connection: OpaquePointer) -> MHD_Result {
    MHD_queue_response(connection, status, handle)
  }
}
