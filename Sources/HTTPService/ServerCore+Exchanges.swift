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
      guard length <= limits.bodyBytes else {
        return .failure(
          413, code: "body-too-large", message: "the body is larger than \(limits.bodyBytes) bytes",
          hint: "split it into several requests")
      }
    }
    return nil
  }

  /// True if a field name is a token (RFC 9110, section 5.6.2); the library is more lenient, which hides fields.
  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { 0x21...0x7e ~= $0 && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
  }

  /// Passes a complete request to the handler and hands its reply, now or later, to the library.
  func handle(_ exchange: Exchange, on handle: OpaquePointer) -> MHD_Result {
    dispatch(exchange)
    guard let (text, peer) = origin(of: exchange.connection) else { return .NO }
    guard let target = HTTPTarget(text) else {
      return send(.badRequest("the request's path or query is malformed"), for: exchange, on: handle)
    }
    let request = HTTPRequest(
      method: exchange.method, target: target, headers: exchange.headers, body: exchange.body, peer: peer)
    exchange.body = Data()
    switch handler(request) {
    case .now(let response):
      return send(response, for: exchange, on: handle)
    case .later(let duration, let start):
      guard suspend(exchange, handle: handle, within: duration) else {
        return send(.tooBusy, for: exchange, on: handle)
      }
      exchange.phase = .suspended
      start(HTTPResponder(exchange: exchange.id, server: self))
      watchClient(of: exchange)
      return .YES
    }
  }

  /// Gives a response to the library, which sends it as the client reads it.
  func send(_ response: HTTPResponse, for exchange: Exchange, on handle: OpaquePointer) -> MHD_Result {
    exchange.phase = .answered
    let closes = isStopping || !exchange.isDispatched
    if let message = LibraryResponse.make(response, closes: closes) { return message.queue(on: handle) }
    let apology = HTTPResponse.failure(500, code: "internal", message: "the reply had an invalid header field")
    return LibraryResponse.make(apology, closes: true)?.queue(on: handle) ?? .NO
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
    guard let handle else { return nil }
    let message = LibraryResponse(owning: handle, status: UInt32(response.status))
    var headers = response.headers
    if headers["Cache-Control"] == nil { headers["Cache-Control"] = "no-store" }
    if headers["Content-Type"] == nil, !response.body.isEmpty { headers["Content-Type"] = "application/octet-stream" }
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
