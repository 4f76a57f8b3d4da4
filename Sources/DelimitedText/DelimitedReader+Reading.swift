extension DelimitedReader {
  /// Reads on to the end of the next record.
  ///
  /// - Throws: the record's first error, once its end is found. ``rawRecord``, ``recordLine`` and ``position`` then
  ///   belong to that record, it has no fields, and the next call goes on with the record after it.
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
        noteOversize(contentEnd: cursor.resumeIndex(end: end))
        return .needsInput
      }
      let isComment = mode == .comment
      mode = .betweenRecords
      if isComment || isBlank { continue }
      noteOversize(contentEnd: recordEnd)
      if let error = isDiscarding ? oversizeError : pendingError {
        fieldCount = 0
        throw error
      }
      return .record
    }
  }

  /// Whether the record is nothing but a line end.
  private var isBlank: Bool { recordEnd == recordStart && !isDiscarding }

  /// Starts a record at the place where the last one ended.
  private mutating func beginRecord() -> Step {
    var start = nextStart
    // A byte order mark is in front of a text, or of each of several that were put one behind the other.
    while start < end, bytes[start] == 0xEF {
      let left = end - start
      guard left < 2 || bytes[start + 1] == 0xBB, left < 3 || bytes[start + 2] == 0xBF else { break }
      if left < 3 {
        if inputHasEnded { break }
        return .needsInput
      }
      start += 3
      nextStart = start
      lineOffset = inputOffset + start
    }
    guard start < end else { return inputHasEnded ? .end : .needsInput }
    recordStart = start
    recordEnd = start
    fieldStart = start
    closingQuote = -1
    hasDoubledQuotes = false
    fieldCount = 0
    unescapedCount = 0
    pendingError = nil
    firstOpenLine = nil
    isDiscarding = false
    recordLine = line
    recordLineOffset = lineOffset
    mode = bytes[start] == dialect.comment ? .comment : .unquoted
    cursor.seek(to: start)
    return .record
  }

  /// Passes over a comment; false if its end is not among the bytes.
  private mutating func scanComment() -> Bool {
    while true {
      let index = cursor.peek(bytes, end: end)
      if index < 0 {
        guard inputHasEnded else { return false }
        endRecord(at: end, lineEndSize: 0)
        return true
      }
      switch endLine(at: index) {
      case .ended: return true
      case .needsInput: return false
      case .noLineEnd: cursor.consume()
      }
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
    let bytes = UnsafePointer(bytes)
    let end = end
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
        guard inputHasEnded else { return false }
        appendField(from: fieldStart, to: end)
        endRecord(at: end, lineEndSize: 0)
        return true
      }
      let byte = bytes[index]
      if byte == separator {
        appendField(from: fieldStart, to: index)
        fieldStart = index &+ 1
        cursor.consume()
      } else if byte == Byte.lineFeed {
        appendField(from: fieldStart, to: index)
        cursor.consume()
        endRecord(at: index, lineEndSize: 1)
        return true
      } else if byte == Byte.carriageReturn {
        // Whether a line feed belongs to it must be known before the record's end is.
        guard index + 1 < end || inputHasEnded else { return false }
        let size = index + 1 < end && bytes[index + 1] == Byte.lineFeed ? 2 : 1
        appendField(from: fieldStart, to: index)
        cursor.seek(to: index + size)
        endRecord(at: index, lineEndSize: size)
        return true
      } else if byte == quote {
        cursor.consume()
        if index == fieldStart {
          mode = .quoted
          quoteLine = line
          quoteLineOffset = lineOffset
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
    let bytes = UnsafePointer(bytes)
    let end = end
    var cursor = cursor
    defer { self.cursor = cursor }
    while true {
      let index = cursor.peek(bytes, end: end)
      if index < 0 {
        guard inputHasEnded else { return false }
        noteUnclosedQuote()
        closingQuote = end
        mode = .unquoted
        return true
      }
      let byte = bytes[index]
      if byte == quote {
        guard index + 1 < end || inputHasEnded else { return false }
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
      if byte == Byte.lineFeed {
        if firstOpenLine == nil { firstOpenLine = quoteLine }
        // The line was counted at the carriage return; here it only begins one byte later.
        if bytes[index - 1] != Byte.carriageReturn { line += 1 }
        lineOffset = inputOffset + index + 1
      } else if byte == Byte.carriageReturn {
        if firstOpenLine == nil { firstOpenLine = quoteLine }
        line += 1
        lineOffset = inputOffset + index + 1
      } else if byte == 0 {
        note(.nulByte, at: index)
      }
      cursor.consume()
    }
  }
}
