/// Why one record can't be used; the source can go on with the next.
package struct RecordError: Error, Sendable, Hashable {
  /// The rule that was broken, such as `strayQuote`; stays the same from release to release.
  package var rule: String
  /// The 1-based line of the offending byte.
  package var line: Int
  /// The 1-based byte in that line.
  package var column: Int
  /// The offending byte's offset in the text, which is unpacked and UTF-8.
  package var byteOffset: Int
  /// The 0-based index of the field, if it is one field's.
  package var fieldIndex: Int?
  /// What is wrong and what to do, without the place.
  package var message: String

  package init(rule: String, line: Int, column: Int, byteOffset: Int, fieldIndex: Int? = nil, message: String) {
    self.rule = rule
    self.line = line
    self.column = column
    self.byteOffset = byteOffset
    self.fieldIndex = fieldIndex
    self.message = message
  }
}

extension RecordError: CustomStringConvertible {
  /// The place and the message.
  package var description: String {
    let field = fieldIndex.map { ", field \($0 + 1)" } ?? ""
    return "line \(line), column \(column)\(field): \(message)"
  }
}
