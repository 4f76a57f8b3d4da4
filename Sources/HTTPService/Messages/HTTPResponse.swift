package import Foundation

/// A complete response; the server adds Content-Length, Date, Cache-Control and, when missing, Content-Type.
package struct HTTPResponse: Equatable, Sendable {
  package var status: Int
  package var headers: HTTPHeaders
  package var body: Data

  package init(status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Plain text in UTF-8.
  package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Data(text.utf8))
  }
}
