/// A text that is no calendar expression, and what would be right.
package struct CalendarError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of mistake; later versions may add kinds.
  package struct Code: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let empty = Code(rawValue: "empty")
    package static let unexpectedText = Code(rawValue: "unexpected-text")
    package static let outOfRange = Code(rawValue: "out-of-range")
    package static let tooLong = Code(rawValue: "too-long")
  }

  package let code: Code
  /// The place of the mistake, counted from 1 in characters.
  package let column: Int
  /// The expectation, and what stands there.
  package let message: String

  package var description: String { "at character \(column): \(message)" }
}
