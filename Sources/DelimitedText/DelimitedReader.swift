/// Reads records of CSV, TSV and the like (RFC 4180 and as the world writes it) from an input given in blocks.
///
/// The caller alternates ``nextRecord()`` and ``fill(_:)``. Fields are handed out as pointers into the reader's own
/// memory, without copying or allocating; they are valid until the next call of either. A record ends with LF, CRLF or
/// a lone CR, also mixed; a UTF-8 byte order mark before a record is skipped, blank lines and comments are skipped and
/// counted. Memory is bounded by the block size and twice the record size limit. Not thread-safe.
package struct DelimitedReader: ~Copyable {
  /// The outcome of ``nextRecord()``.
  package enum Step: Sendable, Hashable {
    /// A record is there.
    case record
    /// The record continues beyond the bytes given so far: call ``fill(_:)``, then ask again.
    case needsInput
    /// The input has ended and every record has been handed out.
    case end
  }

  private enum Mode { case betweenRecords, unquoted, quoted, comment }

  private let dialect: DelimitedDialect
  /// A byte that is never quote where the dialect has none: LF is looked at before it.
  private let quote: UInt8

  private var block: InputBlock
  private var fields: FieldTable
  private var cursor: SpecialByteCursor
  private var mode = Mode.betweenRecords
  /// Indices of the current record's first byte, its end without line end, and the byte after its line end.
  private var recordStart = 0
  private var recordEnd = 0
  private var nextStart = 0
  private var fieldStart = 0
  /// The index of the current field's closing quote, or -1.
  private var closingQuote = -1
  private var hasDoubledQuotes = false

  private var line: InputLine
  /// The line the current record begins in.
  private var firstLine: InputLine
  /// The line and the index of the quote that opened the current field.
  private var quoteLine = InputLine(number: 0, offset: 0)
  private var quoteIndex = 0
  /// The number of the line of the first quote in the record that was not closed before its line's end.
  private var firstOpenLine: Int?
  /// The record's first error, thrown when its end is found.
  private var pendingError: DelimitedTextError?
  /// The record exceeds the size limit: its bytes are skipped.
  private var isDiscarding = false

  /// - Parameters:
  ///   - dialect: must have no ``DelimitedDialect/problem``.
  ///   - blockSize: bytes asked for by one ``fill(_:)``.
  ///   - position: where the given input begins, if an earlier reader read what is before it.
  package init(
    dialect: DelimitedDialect = .csv, blockSize: Int = 1 << 20, startingAt position: RecordPosition = .start
  ) {
    if let problem = dialect.problem { preconditionFailure("unusable dialect: \(problem)") }
    precondition(blockSize > 0, "a block has at least one byte")
    self.dialect = dialect
    quote = dialect.quote ?? Byte.lineFeed
    block = InputBlock(size: blockSize, offset: position.byteOffset)
    fields = FieldTable(limit: dialect.maxFieldCount)
    cursor = SpecialByteCursor(separator: dialect.separator, quote: quote)
    line = InputLine(number: position.line, offset: position.byteOffset)
    firstLine = line
  }
}

extension DelimitedReader {
  /// Reads on to the end of the next record.
  ///
  /// - Throws: the record's first error, once its end is found. ``record`` and ``position`` then belong to that
  ///   record, it has no fields, and the next call continues with the record after it.
  package mutating func nextRecord() throws(DelimitedTextError) -> Step {
    while true {
      if mode == .betweenRecords {
        switch beginRecord() {
        case .record: break
        case .needsInput: return .needsInput
        case .end: return .end
        }
      }
      guard mode == .comment ? scanComment() : scanRecord() else {
        noteOversize(contentEnd: cursor.resumeIndex(end: block.end))
        return .needsInput
      }
      let isComment = mode == .comment
      mode = .betweenRecords
      if isComment || (recordEnd == recordStart && !isDiscarding) { continue }
      noteOversize(contentEnd: recordEnd)
      if let error = isDiscarding ? oversizeError : pendingError {
        fields.removeAll()
        throw error
      }
      return .record
    }
  }

  /// Starts a record at the place where the last one ended.
  private mutating func beginRecord() -> Step {
    guard let start = block.indexAfterMarks(from: nextStart) else { return .needsInput }
    if start > nextStart {
      nextStart = start
      line.offset = block.offset + start
    }
    guard start < block.end else { return block.hasEnded ? .end : .needsInput }
    recordStart = start
    recordEnd = start
    fieldStart = start
    closingQuote = -1
    hasDoubledQuotes = false
    fields.removeAll()
    pendingError = nil
    firstOpenLine = nil
    isDiscarding = false
    firstLine = line
    mode = block.bytes[start] == dialect.comment ? .comment : .unquoted
    cursor.seek(to: start)
    return .record
  }

  /// Passes over a comment; false if its end is not among the bytes.
  private mutating func scanComment() -> Bool {
    while true {
      let index = cursor.peek(block.bytes, end: block.end)
      if index < 0 {
        guard block.hasEnded else { return false }
        endRecord(at: block.end, lineEndSize: 0)
        return true
      }
      guard isLineEnd(block.bytes[index]) else {
        cursor.consume()
        continue
      }
      guard let size = lineEndSize(at: index) else { return false }
      cursor.seek(to: index + size)
      endRecord(at: index, lineEndSize: size)
      return true
    }
  }

  /// Reads fields to the end of the record; false if that is not among the bytes.
  private mutating func scanRecord() -> Bool {
    while true {
      if mode == .quoted {
        guard scanQuoted() else { return false }
      } else if let result = scanUnquoted() {
        return result
      }
    }
  }

  /// Reads fields up to an opening quote (nil), the record's end (true) or the end of the bytes (false).
  private mutating func scanUnquoted() -> Bool? {
    let separator = dialect.separator
    let quote = quote
    let bytes = UnsafePointer(block.bytes)
    let end = block.end
    // Copies, because a store through a pointer makes the compiler reload whatever lies in the reader.
    var cursor = cursor
    var fieldStart = fieldStart
    defer {
      self.cursor = cursor
      self.fieldStart = fieldStart
    }
    while true {
      let index = cursor.peek(bytes, end: end)
      if index < 0 {
        guard block.hasEnded else { return false }
        appendField(from: fieldStart, to: end)
        endRecord(at: end, lineEndSize: 0)
        return true
      }
      let byte = bytes[index]
      if byte == separator {
        appendField(from: fieldStart, to: index)
        fieldStart = index &+ 1
        cursor.consume()
      } else if isLineEnd(byte) {
        guard let size = lineEndSize(at: index) else { return false }
        appendField(from: fieldStart, to: index)
        cursor.seek(to: index &+ size)
        endRecord(at: index, lineEndSize: size)
        return true
      } else if byte == quote {
        cursor.consume()
        if index == fieldStart {
          mode = .quoted
          quoteLine = line
          quoteIndex = index
          return nil
        }
        if dialect.strayQuotes == .error { note(.strayQuote, at: index) }
      } else {
        if byte == 0 { note(.nulByte, at: index) }
        cursor.consume()
      }
    }
  }

  /// Reads on to the closing quote (true) or the end of the bytes (false).
  private mutating func scanQuoted() -> Bool {
    let quote = quote
    let bytes = UnsafePointer(block.bytes)
    let end = block.end
    var cursor = cursor
    defer { self.cursor = cursor }
    while true {
      let index = cursor.peek(bytes, end: end)
      if index < 0 {
        guard block.hasEnded else { return false }
        noteUnclosedQuote()
        closingQuote = end
        mode = .unquoted
        return true
      }
      let byte = bytes[index]
      if byte == quote {
        guard index + 1 < end || block.hasEnded else { return false }
        if index + 1 < end {
          let next = bytes[index + 1]
          if next == quote {
            hasDoubledQuotes = true
            cursor.seek(to: index + 2)
            continue
          }
          let endsField = next == dialect.separator || next == Byte.lineFeed || next == Byte.carriageReturn
          if !endsField, next != 0, dialect.strayQuotes == .error { note(.textAfterQuote, at: index + 1) }
        }
        cursor.consume()
        closingQuote = index
        mode = .unquoted
        return true
      }
      if isLineEnd(byte) {
        if firstOpenLine == nil { firstOpenLine = quoteLine.number }
        // Of two bytes the line is counted at the carriage return; then it only begins one byte later.
        if byte == Byte.carriageReturn || bytes[index - 1] != Byte.carriageReturn { line.number += 1 }
        line.offset = block.offset + index + 1
      } else if byte == 0 {
        note(.nulByte, at: index)
      }
      cursor.consume()
    }
  }

  @inline(__always)
  private func isLineEnd(_ byte: UInt8) -> Bool { byte == Byte.lineFeed || byte == Byte.carriageReturn }

  /// The size of the line end at an index; nil if more bytes must be known.
  @inline(__always)
  private func lineEndSize(at index: Int) -> Int? {
    if block.bytes[index] == Byte.lineFeed { return 1 }
    // Whether a line feed belongs to it must be known before the record's end is.
    guard index + 1 < block.end || block.hasEnded else { return nil }
    return index + 1 < block.end && block.bytes[index + 1] == Byte.lineFeed ? 2 : 1
  }

  /// - Parameter lineEndSize: 0 at the end of the input, where no further line begins.
  @inline(__always)
  private mutating func endRecord(at index: Int, lineEndSize: Int) {
    recordEnd = index
    nextStart = index &+ lineEndSize
    if lineEndSize > 0 {
      line.number &+= 1
      line.offset = block.offset &+ nextStart
    }
  }

  @inline(__always)
  private mutating func appendField(from start: Int, to end: Int) {
    if closingQuote < 0, !fields.isFull {
      fields.append(FieldRange(unquotedAt: start &- recordStart, length: end &- start))
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
    if fields.isFull, !fields.grow() { return note(.tooManyFields, at: start) }
    if closingQuote < 0 {
      fields.append(FieldRange(unquotedAt: start - recordStart, length: end - start))
    } else if !hasDoubledQuotes, closingQuote + 1 >= end {
      fields.append(FieldRange(.quotedText, at: start + 1 - recordStart, length: closingQuote - start - 1))
    } else {
      let text = UnsafeBufferPointer(start: UnsafePointer(block.bytes + start), count: end - start)
      fields.append(unescaping: text, upTo: closingQuote - start, quote: quote)
    }
  }
}

extension DelimitedReader {
  /// Adopts the next block of the input.
  ///
  /// Fields handed out before are no longer valid. A record that began in the block before is moved to the front.
  /// - Parameter read: writes the next bytes of the input to the front of the memory given and returns their number; 0
  ///   at the end.
  /// - Throws: what `read` throws; the reader is unchanged then, and may be filled again.
  package mutating func fill<Failure: Error>(
    _ read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    guard !block.hasEnded else { return }
    makeRoom()
    let resumeIndex = cursor.resumeIndex(end: block.end)
    try block.fill(read)
    cursor.restart(at: resumeIndex)
  }

  private mutating func makeRoom() {
    // One byte before the cursor is kept too: a line feed inside quotes looks back for its carriage return.
    let unread = cursor.resumeIndex(end: block.end)
    let keep: Int
    switch mode {
    case .betweenRecords: keep = nextStart
    case .comment: keep = unread
    case .unquoted, .quoted: keep = isDiscarding ? max(unread - 1, 0) : recordStart
    }
    let moved = block.makeRoom(keeping: keep)
    if moved == 0 { return }
    cursor.restart(at: unread - moved)
    recordStart -= moved
    recordEnd -= moved
    nextStart -= moved
    fieldStart -= moved
    closingQuote = closingQuote < 0 ? -1 : closingQuote - moved
    quoteIndex -= moved
  }
}

/// The current record, after ``DelimitedReader/nextRecord()`` answered `.record` or threw.
///
/// The getters are mutating, since the compiler copies all of the reader where a property of it is only read.
extension DelimitedReader {
  /// The record; valid until the next call that reads.
  package var record: PresentRecord {
    mutating get {
      let start = block.bytes + recordStart
      return PresentRecord(
        fields: fields.fields(of: start),
        raw: UnsafeRawBufferPointer(start: start, count: isDiscarding ? 0 : recordEnd - recordStart),
        line: firstLine.number, offset: block.offset + recordStart)
    }
  }

  /// The number of fields, at least one.
  package var fieldCount: Int { mutating get { fields.count } }

  /// Sets the number of fields: missing ones are absent, superfluous ones are dropped.
  ///
  /// - Precondition: `count` is within the dialect's limit.
  package mutating func fit(fieldCount count: Int) { fields.fit(count) }

  /// The place after the record and its line end, where a later reader can continue.
  package var position: RecordPosition {
    mutating get { RecordPosition(byteOffset: block.offset + nextStart, line: line.number) }
  }
}

/// The errors of the current record.
extension DelimitedReader {
  /// Notes an error at a byte of the current line, unless the record has one already.
  private mutating func note(_ code: DelimitedTextError.Code, at index: Int) {
    guard pendingError == nil else { return }
    let offset = block.offset + index
    pendingError = DelimitedTextError(
      code: code, line: line.number, column: line.column(of: offset), byteOffset: offset, fieldIndex: fields.count,
      limit: code == .tooManyFields ? dialect.maxFieldCount : nil,
      quoteLine: mode == .quoted && quoteLine.number != line.number ? quoteLine.number : nil)
  }

  /// Notes that the input ended inside quotes, at the quote that opened them; other errors may come from that.
  private mutating func noteUnclosedQuote() {
    firstOpenLine = firstOpenLine ?? quoteLine.number
    let offset = block.offset + quoteIndex
    pendingError = DelimitedTextError(
      code: .unclosedQuote, line: quoteLine.number, column: quoteLine.column(of: offset), byteOffset: offset,
      fieldIndex: fields.count)
  }

  /// Refuses a record over the size limit, whatever else is wrong with it, and stops keeping its bytes.
  @inline(__always)
  private mutating func noteOversize(contentEnd: Int) {
    if contentEnd &- recordStart > dialect.maxRecordSize, mode != .comment { isDiscarding = true }
  }

  /// Of a record that was passed over; at its end, because only then all of its quotes are known.
  private var oversizeError: DelimitedTextError {
    let offset = block.offset + recordStart
    return DelimitedTextError(
      code: .recordTooLarge, line: firstLine.number, column: firstLine.column(of: offset), byteOffset: offset,
      fieldIndex: 0, limit: dialect.maxRecordSize, quoteLine: firstOpenLine)
  }
}
