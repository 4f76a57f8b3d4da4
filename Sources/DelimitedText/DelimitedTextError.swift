/// The reason why one record of a text with separators can't be read; the reader can continue with the next record.
package struct DelimitedTextError: Error, Sendable, Hashable {
  /// The kind of error; its raw value stays the same from release to release.
  package enum Code: String, Sendable {
    /// A quote inside a field that does not begin with one.
    case strayQuote
    /// Something else than a separator or a line end after a closing quote.
    case textAfterQuote
    /// The input ends inside quotes.
    case unclosedQuote
    case nulByte
    case recordTooLarge
    case tooManyFields
  }

  package var code: Code
  /// The 1-based line of the offending byte; for an unclosed quote, where it was opened.
  package var line: Int
  /// The 1-based byte column in that line.
  package var column: Int
  /// The offset of the offending byte in the input.
  package var byteOffset: Int
  /// The 0-based index of the field.
  package var fieldIndex: Int
  /// The limit that was exceeded, for errors about sizes.
  package var limit: Int?
  /// The line of the quote that opened the field, if that is another line; of a record over the limit, the line of the
  /// first quote that was still open at a line's end.
  package var quoteLine: Int?

  package init(
    code: Code, line: Int, column: Int, byteOffset: Int, fieldIndex: Int, limit: Int? = nil, quoteLine: Int? = nil
  ) {
    self.code = code
    self.line = line
    self.column = column
    self.byteOffset = byteOffset
    self.fieldIndex = fieldIndex
    self.limit = limit
    self.quoteLine = quoteLine
  }

  /// True if later records may have become part of this one.
  package var swallowsRecords: Bool { code == .unclosedQuote || (code == .recordTooLarge && quoteLine != nil) }
}

extension DelimitedTextError: CustomStringConvertible {
  /// The error, its place and the remedy; contains nothing of the input's text.
  package var description: String {
    code == .recordTooLarge
      ? "line \(line): \(message)" : "line \(line), column \(column), field \(fieldIndex + 1): \(message)"
  }

  /// The error and the remedy, without the place.
  package var message: String {
    switch code {
    case .strayQuote:
      return "a quote inside an unquoted field; quote the whole field and double the quote"
    case .textAfterQuote:
      let field = quoteLine.map { "the closing quote of a field that was opened in line \($0)" } ?? "a closing quote"
      return "text after \(field); double the quotes that belong to the text"
    case .unclosedQuote:
      return "the quote opened here is never closed; close it, or double it if it belongs to the text"
    case .nulByte:
      let field = quoteLine.map { " in a field that was opened in line \($0)" } ?? ""
      return "a NUL byte\(field); the text is damaged or in another encoding such as UTF-16"
    case .recordTooLarge:
      let size = limit.map { "more than \($0) bytes" } ?? "too large"
      guard let quoteLine else { return "the record that begins here is \(size); raise the limit" }
      return "the record that begins here is \(size); close the quote that was opened in line \(quoteLine), or raise "
        + "the limit"
    case .tooManyFields:
      let size = limit.map { "more than \($0) fields" } ?? "too many fields"
      return "the record has \(size); check the separator, or raise the limit"
    }
  }
}
