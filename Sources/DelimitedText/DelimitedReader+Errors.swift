extension DelimitedReader {
  /// Notes an error at a byte of the current line, unless the record has one already.
  mutating func note(_ code: DelimitedTextError.Code, at index: Int) {
    guard pendingError == nil else { return }
    let offset = inputOffset + index
    pendingError = DelimitedTextError(
      code: code, line: line, column: offset - lineOffset + 1, byteOffset: offset, fieldIndex: fieldCount,
      limit: code == .tooManyFields ? dialect.maxFieldCount : nil,
      quoteLine: mode == .quoted && quoteLine != line ? quoteLine : nil)
  }

  /// Notes that the input ended inside quotes, at the quote that opened them; other errors may come from that.
  mutating func noteUnclosedQuote() {
    firstOpenLine = firstOpenLine ?? quoteLine
    let offset = inputOffset + quoteIndex
    pendingError = DelimitedTextError(
      code: .unclosedQuote, line: quoteLine, column: offset - quoteLineOffset + 1, byteOffset: offset,
      fieldIndex: fieldCount)
  }

  /// Refuses a record over the size limit, whatever else is wrong with it, and stops keeping its bytes.
  @inline(__always)
  mutating func noteOversize(contentEnd: Int) {
    if contentEnd &- recordStart > dialect.maxRecordSize, mode != .comment { isDiscarding = true }
  }

  /// Of a record that was passed over; at its end, because only then all of its quotes are known.
  var oversizeError: DelimitedTextError {
    DelimitedTextError(
      code: .recordTooLarge, line: recordLine, column: recordOffset - recordLineOffset + 1, byteOffset: recordOffset,
      fieldIndex: 0, limit: dialect.maxRecordSize, quoteLine: firstOpenLine)
  }
}
