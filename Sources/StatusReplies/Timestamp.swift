package import Foundation
package import JSONText
import TextSupport

/// An ISO 8601 time with or without fractions of a second; other text is kept as it is.
package struct Timestamp: Decodable, Sendable {
  package let text: String
  package let date: Date?

  /// Writes a time with milliseconds.
  package init(_ date: Date) {
    self.date = date
    text = date.formatted(Self.format)
  }

  private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  package init(from decoder: any Decoder) throws {
    self.init(text: try decoder.singleValueContainer().decode(String.self))
  }

  package init(text: String) {
    self.text = text
    date = Date(moment: text)
  }
}

/// The one form of all errors of the status interface.
package struct ErrorReply: Decodable, Sendable {
  package struct Content: Decodable, Sendable {
    package let code: String?
    package let message: String
    package let hint: String?
    /// The column of the mistake in a predicate, in characters from 1.
    package let column: Int?
  }

  package let error: Content
}

extension JSONValue {
  static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
  static func whole(_ number: Int?) -> JSONValue { number.map { .integer(Int64($0)) } ?? .null }
  static func real(_ number: Double?) -> JSONValue { number.map(JSONValue.number) ?? .null }
  static func time(_ time: Timestamp?) -> JSONValue { time.map { .string($0.text) } ?? .null }

  package static func counts(_ counts: [String: Int]) -> JSONValue {
    .object(counts.sorted { $0.key < $1.key }.reduce(into: JSONObject()) { $0[$1.key] = .whole($1.value) })
  }
}
