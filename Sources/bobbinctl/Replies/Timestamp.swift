import Foundation

/// An ISO 8601 time with or without fractions of a second; other text is kept as it is.
struct Timestamp: Decodable {
  let text: String
  let date: Date?

  init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
    date =
      (try? Date.ISO8601FormatStyle().parse(text))
      ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
  }
}
