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
