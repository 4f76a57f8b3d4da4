package import Foundation

/// A complete response; the server adds Content-Length, Date and, when missing, Cache-Control, Content-Type and
/// ``guardHeaders``.
package struct HTTPResponse: Sendable {
  package var status: Int
  package var headers: HTTPHeaders
  package var body: Data
  /// The source of the body, in place of ``body``, of a length that nobody knows yet.
  package var source: (any HTTPBodySource)?

  package init(status: Int = 200, headers: HTTPHeaders = [:], body: Data = Data()) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The fields that keep a browser from doing more with a reply than to show it, unless the reply has its own.
  ///
  /// Nothing in a reply is run or loaded, no page of another site may frame or embed it, its type is not guessed, and no
  /// link in it tells where it came from.
  package static let guardHeaders: HTTPHeaders = [
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
  ]

  /// Plain text in UTF-8.
  package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Data(text.utf8))
  }
}

extension HTTPResponse: Equatable {
  package static func == (left: HTTPResponse, right: HTTPResponse) -> Bool {
    left.status == right.status && left.headers == right.headers && left.body == right.body
      && left.source === right.source
  }
}

extension HTTPResponse {
  /// A JSON document with sorted keys and ISO 8601 dates; a value that can't be encoded gives status 500 instead.
  package static func json(_ value: some Encodable, status: Int = 200) -> HTTPResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    do {
      return json(data: try encoder.encode(value), status: status)
    } catch {
      return .failure(500, code: "internal", message: "the reply can't be encoded as JSON: \(error)")
    }
  }

  /// JSON that is already encoded.
  package static func json(data: Data, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: ["Content-Type": "application/json"], body: data)
  }

  /// A refusal in the one form all errors have: `{"error": {"code": ..., "hint": ..., "message": ...}}`.
  ///
  /// - Parameters:
  ///   - code: A stable name for programs, such as `not-found`.
  ///   - message: What happened, for people.
  ///   - hint: What to do about it, if that is known.
  ///   - column: The column of the mistake in a text that the client sent, in characters from 1.
  package static func failure(
    _ status: Int, code: String, message: String, hint: String? = nil, column: Int? = nil
  ) -> HTTPResponse {
    json(ErrorDocument(error: .init(code: code, message: message, hint: hint, column: column)), status: status)
  }
}

/// The JSON form of every refusal.
struct ErrorDocument: Encodable {
  struct Content: Encodable {
    let code: String
    let message: String
    let hint: String?
    let column: Int?
  }

  let error: Content
}
