import DelimitedText
import SystemSupport

/// The reason why one record is rejected; the source can continue with the next.
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
  /// The error and the remedy, without the place.
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

extension RecordError {
  init(_ error: DelimitedTextError) {
    self.init(
      rule: error.code.rawValue, line: error.line, column: error.column, byteOffset: error.byteOffset,
      fieldIndex: error.fieldIndex, message: error.message)
  }

  /// Makes an error at a byte of a record.
  init(_ rule: String, in record: PresentRecord, at index: Int, _ message: String) {
    var line = record.line
    var lineStart = 1 - record.column
    for place in 0..<min(index, record.raw.count) {
      let byte = record.raw[place]
      let isInsideLineEnd = byte == 0x0D && place + 1 < record.raw.count && record.raw[place + 1] == 0x0A
      guard byte == 0x0A || byte == 0x0D, !isInsideLineEnd else { continue }
      line += 1
      lineStart = place + 1
    }
    self.init(
      rule: rule, line: line, column: index - lineStart + 1, byteOffset: record.offset + index, message: message)
  }

  /// Makes the error for bytes in a record that are not text.
  init(_ encoding: TextEncoding, in record: PresentRecord) {
    let index = firstInvalidUTF8(record.raw) ?? 0
    var message = "something here is not text in \(encoding); state another encoding"
    if encoding == .utf8, index < record.raw.count {
      let byte = String(record.raw[index], radix: 16, uppercase: true)
      message = "the byte 0x\(byte) is not UTF-8; state the encoding, or save the text as UTF-8"
    }
    self.init("encoding", in: record, at: index, message)
  }
}
