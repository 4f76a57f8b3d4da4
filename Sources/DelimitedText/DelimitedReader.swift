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

  enum Mode {
    case betweenRecords, unquoted, quoted, comment
  }

  package let dialect: DelimitedDialect
  private let blockSize: Int
  /// A byte that is never quote where the dialect has none: LF is looked at before it.
  let quote: UInt8

  /// `capacity` bytes, and a scanning block of zeros beyond them so that every block can be read whole.
  var bytes: UnsafeMutablePointer<UInt8>
  var capacity: Int
  /// Bytes filled so far.
  var end = 0
  var inputHasEnded = false
  /// The input's offset of `bytes[0]`.
  var inputOffset: Int

  var cursor: SpecialByteCursor
  var mode = Mode.betweenRecords
  /// Indices of the current record's first byte, its end without line end, and the byte after its line end.
  var recordStart = 0
  var recordEnd = 0
  var nextStart = 0
  private var fieldStart = 0
  /// The index of the current field's closing quote, or -1.
  var closingQuote = -1
  var hasDoubledQuotes = false
  /// Line, line's offset in the input, and index of the quote that opened the current field.
  var quoteLine = 0
  var quoteLineOffset = 0
  var quoteIndex = 0
  /// The line of the first quote in the record that was not closed before its line's end.
  var firstOpenLine: Int?

  var line: Int
  /// The input's offset of the current line.
  var lineOffset: Int
  /// The line the current record begins in, and its offset in the input.
  package var recordLine: Int
  var recordLineOffset: Int
  /// The record's first error, thrown when its end is found.
  var pendingError: DelimitedTextError?
  /// The record exceeds the size limit: its bytes are skipped.
  var isDiscarding = false

  var fields: UnsafeMutablePointer<FieldRange>
  var fieldCapacity: Int
  /// Fields in the current record, at least one.
  package internal(set) var fieldCount = 0

  /// The current record's texts that had doubled quotes; apart, so that the raw record stays as it came.
  var unescaped: UnsafeMutablePointer<UInt8>
  var unescapedCapacity: Int
  var unescapedCount = 0

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
    self.blockSize = blockSize
    quote = dialect.quote ?? Byte.lineFeed
    capacity = blockSize + blockSize / 16
    bytes = Self.allocateBytes(capacity)
    cursor = SpecialByteCursor(separator: dialect.separator, quote: quote)
    inputOffset = position.byteOffset
    line = position.line
    lineOffset = position.byteOffset
    recordLine = position.line
    recordLineOffset = position.byteOffset
    fieldCapacity = min(64, dialect.maxFieldCount)
    fields = .allocate(capacity: fieldCapacity)
    unescapedCapacity = 256
    unescaped = .allocate(capacity: unescapedCapacity)
  }

  deinit {
    bytes.deallocate()
    fields.deallocate()
    unescaped.deallocate()
  }

  static func allocateBytes(_ capacity: Int) -> UnsafeMutablePointer<UInt8> {
    let size = capacity + SpecialByteCursor.blockSize
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
    bytes.initialize(repeating: 0, count: size)
    return bytes
  }
}

extension DelimitedReader {
  /// Reads on to the end of the next record.
  ///
  /// - Throws: the record's first error, once its end is found. ``rawRecord``, ``recordLine`` and ``position`` then
  ///   belong to that record, it has no fields, and the next call continues with the record after it.
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

  /// True if the record is nothing but a line end.
  private var isBlank: Bool { recordEnd == recordStart && !isDiscarding }

  /// Starts a record at the place where the last one ended.
  private mutating func beginRecord() -> Step {
    var start = nextStart
    // A byte order mark comes before a text, or before each of several concatenated ones.
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

extension DelimitedReader {
  /// Takes the next block of the input.
  ///
  /// Fields handed out before are no longer valid. A record that began in the block before is moved to the front.
  /// - Parameter read: writes the next bytes of the input to the front of the memory given and returns their number; 0
  ///   at the end.
  /// - Throws: what `read` throws; the reader is unchanged then, and may be filled again.
  package mutating func fill<Failure: Error>(
    _ read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    guard !inputHasEnded else { return }
    makeRoom()
    let count = try read(UnsafeMutableRawBufferPointer(start: bytes + end, count: blockSize))
    precondition(count >= 0 && count <= blockSize, "the number of bytes read is not within the memory given")
    cursor.restart(at: cursor.resumeIndex(end: end))
    end += count
    inputHasEnded = count == 0
  }

  /// Makes the memory after `end` at least one block long.
  private mutating func makeRoom() {
    // One byte before the cursor is kept too: a line feed inside quotes looks back for its carriage return.
    let unread = cursor.resumeIndex(end: end)
    let keep: Int
    switch mode {
    case .betweenRecords: keep = nextStart
    case .comment: keep = unread
    case .unquoted, .quoted: keep = isDiscarding ? max(unread - 1, 0) : recordStart
    }
    let kept = end - keep
    if kept + blockSize > capacity {
      // Twice what is needed, so that a long record is copied a few times only, however small the blocks are.
      let newCapacity = 2 * (kept + blockSize)
      let larger = Self.allocateBytes(newCapacity)
      larger.update(from: bytes + keep, count: kept)
      bytes.deallocate()
      bytes = larger
      capacity = newCapacity
    } else if keep > 0, end + blockSize > capacity || kept == 0 {
      bytes.update(from: bytes + keep, count: kept)
    } else {
      return
    }
    cursor.restart(at: unread - keep)
    inputOffset += keep
    end -= keep
    recordStart -= keep
    recordEnd -= keep
    nextStart -= keep
    fieldStart -= keep
    closingQuote = closingQuote < 0 ? -1 : closingQuote - keep
    quoteIndex -= keep
  }
}
