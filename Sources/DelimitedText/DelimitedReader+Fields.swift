extension DelimitedReader {
  enum LineEnd {
    case ended, needsInput, noLineEnd
  }

  /// Ends the record if a line ends at `index`.
  mutating func endLine(at index: Int) -> LineEnd {
    switch bytes[index] {
    case Byte.lineFeed:
      cursor.consume()
      endRecord(at: index, lineEndSize: 1)
    case Byte.carriageReturn:
      guard index + 1 < end || inputHasEnded else { return .needsInput }
      let size = index + 1 < end && bytes[index + 1] == Byte.lineFeed ? 2 : 1
      cursor.seek(to: index + size)
      endRecord(at: index, lineEndSize: size)
    default: return .noLineEnd
    }
    return .ended
  }

  /// - Parameter lineEndSize: 0 at the end of the input, where no further line begins.
  @inline(__always)
  mutating func endRecord(at index: Int, lineEndSize: Int) {
    recordEnd = index
    nextStart = index &+ lineEndSize
    if lineEndSize > 0 {
      line &+= 1
      lineOffset = inputOffset &+ nextStart
    }
  }

  @inline(__always)
  mutating func appendField(from start: Int, to end: Int) {
    if closingQuote < 0, fieldCount < fieldCapacity {
      fields[fieldCount] = FieldRange(unquotedAt: start &- recordStart, length: end &- start)
      fieldCount &+= 1
    } else {
      appendUncommonField(from: start, to: end)
    }
  }

  /// Appends a field that is quoted, or for which there is no memory yet.
  private mutating func appendUncommonField(from start: Int, to end: Int) {
    defer {
      closingQuote = -1
      hasDoubledQuotes = false
    }
    // What can't be kept is not looked at either: the bytes may be gone.
    guard !isDiscarding else { return }
    if fieldCount == fieldCapacity {
      guard fieldCount < dialect.maxFieldCount else { return note(.tooManyFields, at: start) }
      growFields()
    }
    if closingQuote < 0 {
      fields[fieldCount] = FieldRange(unquotedAt: start - recordStart, length: end - start)
    } else if !hasDoubledQuotes, closingQuote + 1 >= end {
      fields[fieldCount] = FieldRange(
        .quotedText, at: start + 1 - recordStart, length: closingQuote - start - 1)
    } else {
      fields[fieldCount] = unescape(from: start, to: end)
    }
    fieldCount += 1
  }

  /// Copies a field without the quotes that are not text.
  private mutating func unescape(from start: Int, to end: Int) -> FieldRange {
    let needed = unescapedCount + end - start
    if needed > unescapedCapacity {
      let newCapacity = 2 * needed
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
      larger.update(from: unescaped, count: unescapedCount)
      unescaped.deallocate()
      unescaped = larger
      unescapedCapacity = newCapacity
    }
    let first = unescapedCount
    var count = first
    var index = start + 1
    while index < closingQuote {
      let byte = bytes[index]
      unescaped[count] = byte
      count += 1
      // Before the closing quote, every quote is followed by its double.
      index += byte == quote ? 2 : 1
    }
    index = closingQuote + 1
    while index < end {
      unescaped[count] = bytes[index]
      count += 1
      index += 1
    }
    unescapedCount = count
    return FieldRange(.quotedText, at: first, length: count - first, isUnescaped: true)
  }

  mutating func growFields() {
    let newCapacity = min(4 * fieldCapacity, dialect.maxFieldCount)
    let larger = UnsafeMutablePointer<FieldRange>.allocate(capacity: newCapacity)
    larger.update(from: fields, count: fieldCount)
    fields.deallocate()
    fields = larger
    fieldCapacity = newCapacity
  }
}

/// The current record, after ``DelimitedReader/nextRecord()`` answered `.record` or threw.
extension DelimitedReader {
  /// The record; valid until the next call that reads.
  package var record: PresentRecord {
    // Mutating, since the compiler copies all of the reader where a property of it is only read.
    mutating get {
      PresentRecord(
        fields: RecordFields(record: bytes + recordStart, unescaped: unescaped, ranges: fields, count: fieldCount),
        raw: rawRecord, line: recordLine, offset: recordOffset)
    }
  }

  /// The text of a field, without its quotes and with doubled quotes made single; valid until the next call that reads.
  package mutating func field(_ index: Int) -> UnsafeRawBufferPointer { record.fields[index] }

  /// True if a field was quoted: `""` is an empty text, while nothing at all may be a missing value.
  package mutating func isQuoted(_ index: Int) -> Bool { record.fields.kind(index) == .quotedText }

  /// Sets the number of fields: missing ones are absent, superfluous ones are dropped.
  ///
  /// - Precondition: `count` is within the dialect's limit.
  package mutating func fit(fieldCount count: Int) {
    precondition(count <= dialect.maxFieldCount, "more fields than the dialect allows")
    while fieldCapacity < count { growFields() }
    while fieldCount < count {
      fields[fieldCount] = FieldRange(.absent, at: 0, length: 0)
      fieldCount += 1
    }
    fieldCount = count
  }

  /// The record as it came, without its line end; empty if it was over the size limit.
  package var rawRecord: UnsafeRawBufferPointer {
    isDiscarding
      ? UnsafeRawBufferPointer(start: bytes, count: 0)
      : UnsafeRawBufferPointer(start: bytes + recordStart, count: recordEnd - recordStart)
  }

  /// The offset of the record's first byte in the input.
  package var recordOffset: Int { inputOffset + recordStart }

  /// The place after the record and its line end, where a later reader can continue.
  package var position: RecordPosition {
    RecordPosition(byteOffset: inputOffset + nextStart, line: line)
  }
}

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
