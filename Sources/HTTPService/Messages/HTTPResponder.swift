/// Answers one suspended request from any thread, at most once.
///
/// Dropping it without an answer sends status 500, so that no client waits in vain. The server itself answers with 503
/// when it stops, and with 504 at the deadline.
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
