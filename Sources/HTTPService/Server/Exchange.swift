import Foundation

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
