import Synchronization

/// A handler's reply: at once, or later through a responder.
package enum HTTPReply: Sendable {
  case now(HTTPResponse)
  /// Suspends the connection, then calls `start` once with the responder, on the server's thread.
  ///
  /// Without an answer within the given time (the server's `replyTimeout` when nil) the client gets status 504.
  case later(within: Duration? = nil, start: @Sendable (HTTPResponder) -> Void)
  /// Sends a head, and a body that comes bit by bit; the head's own body is not sent.
  case stream(HTTPResponse, any HTTPBodySource)
}

extension HTTPReply {
  /// The same, with a call that learns of the response, whether or not its client is still there then.
  package func observed(by call: @escaping @Sendable (HTTPResponse) -> Void) -> HTTPReply {
    switch self {
    case .now(let response):
      call(response)
      return self
    case .later(let duration, let start):
      return .later(within: duration) { start(HTTPResponder(observing: $0, call)) }
    case .stream(let head, _):
      call(head)
      return self
    }
  }
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
  /// The form that the client wants; nil if another responder sees to it.
  private let form: ReplyForm?

  init(exchange: UInt64, server: any ExchangeOwner, form: ReplyForm?) {
    self.exchange = exchange
    self.server = server
    self.form = form
  }

  deinit {
    server.answer(
      exchange,
      with: .failure(500, code: "internal", message: "the request was dropped without a reply"))
  }

  /// Sends the response unless the request has been answered already, in the form that the client wants.
  ///
  /// - Returns: True if this response was accepted. It may still not arrive, if its client is about to leave.
  @discardableResult
  package func respond(_ response: HTTPResponse) -> Bool {
    guard let form else { return server.answer(exchange, with: response) }
    return server.isWaiting(exchange) && server.answer(exchange, with: form.apply(to: response))
  }

  /// True if the client is connected and has no answer yet.
  package var isWaiting: Bool { server.isWaiting(exchange) }

  /// Answers by another one, after a call that learns of the response.
  fileprivate convenience init(observing other: HTTPResponder, _ call: @escaping @Sendable (HTTPResponse) -> Void) {
    self.init(exchange: other.exchange, server: ObservedExchange(other, call), form: nil)
  }

  /// Calls back once when the exchange is over, at once if it is: the client has the reply, or has left, with or
  /// without one.
  ///
  /// The call comes on the server's thread and must be quick.
  package func whenOver(_ call: @escaping @Sendable () -> Void) { server.whenOver(exchange, call) }
}

/// A suspended request of whose answer somebody learns.
private final class ObservedExchange: ExchangeOwner {
  private let original: HTTPResponder
  /// Nil once it was called.
  private let call: Mutex<(@Sendable (HTTPResponse) -> Void)?>

  init(_ original: HTTPResponder, _ call: @escaping @Sendable (HTTPResponse) -> Void) {
    self.original = original
    self.call = Mutex(call)
  }

  func answer(_ exchange: UInt64, with response: HTTPResponse) -> Bool {
    call.withLock { $0.take() }?(response)
    return original.respond(response)
  }

  func isWaiting(_ exchange: UInt64) -> Bool { original.isWaiting }

  func whenOver(_ exchange: UInt64, _ call: @escaping @Sendable () -> Void) { original.whenOver(call) }
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
