package import Foundation

/// Sends HTTP requests to the daemon's Unix socket, one after the other, and waits for each reply.
///
/// It is meant for the command line: `send` blocks the calling thread until the reply arrives or the timeout passes, so
/// it must not be called on the cooperative pool. Each call opens its own connection; proxies and other settings of
/// the environment are ignored.
package struct ControlClient: Sendable {
  package let socketPath: String
  /// Larger replies are refused, in bytes.
  package let maximumReplyBytes: Int

  package init(socketPath: String, maximumReplyBytes: Int = 64 << 20) {
    self.socketPath = socketPath
    self.maximumReplyBytes = maximumReplyBytes
  }

  /// Sends a request and waits for the whole reply, whatever its status is.
  ///
  /// - Parameters:
  ///   - method: Such as `GET`.
  ///   - path: Percent-encoded and starting with a slash; `ControlClient.path(_:)` makes one from plain components.
  ///   - query: Plain text, encoded here.
  ///   - body: Sent as `application/json`.
  ///   - timeout: For everything from connecting to the reply's last byte.
  /// - Throws: An error whose description says what to do. After `timedOut` and `connectionClosed` it is unknown
  ///   whether the daemon has carried out the request.
  package func send(
    _ method: String, _ path: String, query: [URLQueryItem] = [], body: Data? = nil, timeout: Duration = .seconds(30)
  ) throws(ControlClientError) -> (status: Int, body: Data) {
    try send(method, path, query: query, sending: body.map { .json($0) }, timeout: timeout)
  }

  /// A request's body.
  package enum Body {
    case json(Data)
    /// Lines of JSON, of a length that is known; `read` fills a buffer, and returns how many bytes it has.
    case lines(size: Int64, read: (UnsafeMutableRawBufferPointer) -> Int)
    /// A form with parts, likewise.
    case form(boundary: String, size: Int64, read: (UnsafeMutableRawBufferPointer) -> Int)

    fileprivate var contentType: String {
      switch self {
      case .json: "application/json"
      case .lines: "application/x-ndjson"
      case .form(let boundary, _, _): "multipart/form-data; boundary=\(boundary)"
      }
    }
  }

  /// Sends a request with a body of any kind, and waits for the whole reply, whatever its status is.
  ///
  /// - Parameter greet: Called with the connection's descriptor before the request is sent; returns false to give up,
  ///   which throws ``ControlClientError/Code/givenUp``.
  package func send(
    _ method: String, _ path: String, query: [URLQueryItem] = [], sending body: Body?,
    greet: ((Int32) -> Bool)? = nil, timeout: Duration
  ) throws(ControlClientError) -> (status: Int, body: Data) {
    guard let target = target(path, query) else {
      throw failure(.badRequest, "\"\(path)\" is not a request path: it must start with / and be percent-encoded")
    }
    guard !method.isEmpty, method.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else {
      throw failure(.badRequest, "\"\(method)\" is not a request method such as GET or POST")
    }
    // sun_path has 108 bytes and ends with a zero byte.
    guard 1...107 ~= socketPath.utf8.count, !socketPath.utf8.contains(0) else {
      throw failure(.badRequest, "the socket path \(socketPath) must be 1 to 107 bytes long; use a shorter one")
    }
    let transfer = try Transfer(
      client: self, target: target, contentType: (body ?? .json(Data())).contentType, timeout: timeout,
      greeter: greet.map { Greeter($0) })
    return try transfer.run(method: method, body: body, into: ReplyBody(maximumBytes: maximumReplyBytes))
  }

  /// Asks for something of any length, and passes it on piece by piece; any other reply than a good one is returned.
  ///
  /// - Parameters:
  ///   - stall: The longest time without a byte.
  ///   - take: Returns false to give up, which throws ``ControlClientError/Code/givenUp``.
  package func download(
    _ path: String, query: [URLQueryItem] = [], stall: Duration, _ take: (UnsafeRawBufferPointer) -> Bool
  ) throws(ControlClientError) -> (status: Int, body: Data) {
    guard let target = target(path, query) else {
      throw failure(.badRequest, "\"\(path)\" is not a request path: it must start with / and be percent-encoded")
    }
    let outcome = withoutActuallyEscaping(take) { take in
      Result { () throws(ControlClientError) in
        let transfer = try Transfer(client: self, target: target, contentType: "application/json", timeout: stall)
        return try transfer.download(into: ReplyBody(maximumBytes: maximumReplyBytes, passing: take))
      }
    }
    return try outcome.get()
  }

  /// A percent-encoded path of plain components, such as `/v1/jobs/a%2Fb` of "v1", "jobs" and "a/b".
  package static func path(_ components: String...) -> String {
    components.map { "/" + percentEncoded($0) }.joined()
  }

  private func target(_ path: String, _ query: [URLQueryItem]) -> String? {
    let isPath = path.utf8.allSatisfy { 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    guard path.utf8.first == UInt8(ascii: "/"), isPath else { return nil }
    if query.isEmpty { return path }
    let items = query.map { item in
      Self.percentEncoded(item.name) + (item.value.map { "=" + Self.percentEncoded($0) } ?? "")
    }
    return path + "?" + items.joined(separator: "&")
  }

  /// Keeps RFC 3986's unreserved characters and encodes every other byte.
  private static func percentEncoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += (digits.count == 1 ? "%0" : "%") + digits
      }
    }
  }

  func failure(_ code: ControlClientError.Code, _ message: String) -> ControlClientError {
    ControlClientError(code, socketPath: socketPath, message: message)
  }
}

/// A request that got no usable reply: what happened, to which socket, and what to do.
package struct ControlClientError: Error, Equatable {
  /// The cause, open to causes this version doesn't name.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The request itself can't be sent: a bad path, method or socket path.
    package static let badRequest = Self(rawValue: "badRequest")
    /// Nothing has that path.
    package static let socketMissing = Self(rawValue: "socketMissing")
    /// The caller may not connect to the socket.
    package static let permissionDenied = Self(rawValue: "permissionDenied")
    /// The socket exists, but nobody listens to it.
    package static let connectionRefused = Self(rawValue: "connectionRefused")
    /// The whole exchange took longer than allowed; a request that changes something may have been carried out.
    package static let timedOut = Self(rawValue: "timedOut")
    /// The other side closed before the reply was complete; the request may have been carried out.
    package static let connectionClosed = Self(rawValue: "connectionClosed")
    /// The other side doesn't speak HTTP.
    package static let notHTTP = Self(rawValue: "notHTTP")
    /// The reply is larger than this client accepts.
    package static let replyTooLarge = Self(rawValue: "replyTooLarge")
    /// libcurl failed in a way that has no better name; the message has its words.
    package static let transport = Self(rawValue: "transport")
    /// The caller wanted to send no request, or no more of a reply.
    package static let givenUp = Self(rawValue: "givenUp")
  }

  package let code: Code
  package let socketPath: String
  /// The message and advice, one sentence or two, safe to print.
  package let message: String

  init(_ code: Code, socketPath: String, message: String) {
    self.code = code
    self.socketPath = socketPath
    self.message = message
  }
}

extension ControlClientError: CustomStringConvertible {
  package var description: String { message }
}
