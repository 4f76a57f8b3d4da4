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
