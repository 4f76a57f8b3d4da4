/// Answers one set-aside request from any thread, at most once.
///
/// Releasing it without an answer answers with status 500, so that no client waits for nothing. The server answers
/// itself, with 503 when it stops and with 504 when the deadline is over.
package final class HTTPResponder: Sendable {
  private let exchange: UInt64
  private let server: ServerCore

  init(exchange: UInt64, server: ServerCore) {
    self.exchange = exchange
    self.server = server
  }

  deinit {
    server.answer(
      exchange,
      with: .failure(500, code: "internal", message: "The request was given up without an answer."))
  }

  /// Sends the response unless the request has been answered already.
  ///
  /// - Returns: Whether this response was taken. It may still not arrive, if its client is about to go.
  @discardableResult
  package func respond(_ response: HTTPResponse) -> Bool {
    server.answer(exchange, with: response)
  }

  /// Whether the client is there and has no answer yet.
  package var isWaiting: Bool { server.isWaiting(exchange) }

  /// Calls back once when the exchange is over, at once if it is: the client has the reply, or has gone, also before
  /// there was one.
  ///
  /// The call comes on the server's thread and must be quick.
  package func whenOver(_ call: @escaping @Sendable () -> Void) { server.whenOver(exchange, call) }
}
