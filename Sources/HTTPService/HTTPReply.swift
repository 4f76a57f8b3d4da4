/// A handler's reply: at once, or later through a responder.
package enum HTTPReply: Sendable {
  case now(HTTPResponse)
  /// Suspends the connection, then calls `start` once with the responder, on the server's thread.
  ///
  /// Without an answer within the given time (the server's `replyTimeout` when nil) the client gets status 504.
  case later(within: Duration? = nil, start: @Sendable (HTTPResponder) -> Void)
}

/// Answers one request; called on the server's only thread, so it must return quickly and never wait.
package typealias HTTPHandler = @Sendable (HTTPRequest) -> HTTPReply

/// Answers one suspended request from any thread, at most once.
///
/// Dropping it without an answer sends status 500, so that no client waits in vain. The server itself answers with 503
/// when it stops, and with 504 at the deadline.
package final class HTTPResponder: Sendable {
  private let exchange: UInt64
  private let server: any ExchangeOwner

  init(exchange: UInt64, server: any ExchangeOwner) {
    self.exchange = exchange
    self.server = server
  }

  deinit {
    server.answer(
      exchange,
      with: .failure(500, code: "internal", message: "the request was dropped without a reply"))
  }

  /// Sends the response unless the request has been answered already.
  ///
  /// - Returns: True if this response was accepted. It may still not arrive, if its client is about to leave.
  @discardableResult
  package func respond(_ response: HTTPResponse) -> Bool {
    server.answer(exchange, with: response)
  }

  /// True if the client is connected and has no answer yet.
  package var isWaiting: Bool { server.isWaiting(exchange) }

  /// Calls back once when the exchange is over, at once if it is: the client has the reply, or has left, with or
  /// without one.
  ///
  /// The call comes on the server's thread and must be quick.
  package func whenOver(_ call: @escaping @Sendable () -> Void) { server.whenOver(exchange, call) }
}

/// The server's side of a suspended request.
protocol ExchangeOwner: Sendable {
  /// Answers a suspended exchange, from any thread; false when it has been answered before, or its client has left.
  @discardableResult
  func answer(_ exchange: UInt64, with response: HTTPResponse) -> Bool

  /// True if an exchange is still to be answered.
  func isWaiting(_ exchange: UInt64) -> Bool

  /// Calls back when an exchange is over, at once if it is.
  func whenOver(_ exchange: UInt64, _ call: @escaping @Sendable () -> Void)
}
