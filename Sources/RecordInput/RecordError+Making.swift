import DelimitedText

extension RecordError {
  init(_ error: DelimitedTextError) {
    self.init(
      rule: error.code.rawValue, line: error.line, column: error.column, byteOffset: error.byteOffset,
      fieldIndex: error.fieldIndex, message: error.message)
  }

  /// An error at a byte of a record.
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

  /// Bytes in a record that are no text.
  init(_ encoding: TextEncoding, in record: PresentRecord) {
    let index = firstInvalidUTF8(record.raw) ?? 0
    var message = "something here is no text in \(encoding); state another encoding"
    if encoding == .utf8, index < record.raw.count {
      let byte = String(record.raw[index], radix: 16, uppercase: true)
      message = "the byte 0x\(byte) is not UTF-8; state the encoding, or save the text as UTF-8"
    }
    self.init("encoding", in: record, at: index, message)
  }
}

/// Such as "1 field" or "3 fields".
func counted(_ number: Int, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }

extension InputOptions {
  /// What tells how many fields a record has.
  var firstOrList: String { fieldCount == nil ? "the first record" : "the list of columns" }
}
