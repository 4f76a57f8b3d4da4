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
