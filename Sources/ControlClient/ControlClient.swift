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
    let transfer = try Transfer(client: self, target: target, timeout: timeout)
    return try transfer.run(method: method, body: body)
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
