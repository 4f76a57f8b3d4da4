import Glibc

/// Finding where the next record begins and ends.
extension JSONRecords {
  /// Reads on while keeping the present record, unless it is too large already.
  private func fill(_ index: inout Int) throws(InputError) {
    if index - recordStart > options.maxRecordSize { isOversized = true }
    let keep = isOversized ? index : recordStart
    try block.fill(keeping: keep)
    index -= keep
    recordStart = isOversized ? 0 : recordStart - keep
  }

  /// The next line that is not blank.
  func findLine() throws(InputError) -> Bool {
    while true {
      beginRecord(at: nextStart)
      var index = nextStart
      while true {
        if let found = memchr(block.bytes + index, 0x0A, block.end - index) {
          recordEnd = block.bytes.distance(to: found.assumingMemoryBound(to: UInt8.self))
          nextStart = recordEnd + 1
          beginLine(at: nextStart)
          break
        }
        index = block.end
        if block.hasEnded {
          recordEnd = index
          nextStart = index
          break
        }
        try fill(&index)
      }
      if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
      if !isOversized { skipMarks() }
      if recordEnd > recordStart, block.bytes[recordEnd - 1] == 0x0D { recordEnd -= 1 }
      if !isBlank || isOversized { return true }
      if block.hasEnded, nextStart == block.end { return false }
    }
  }

  /// Byte order marks are in front of a line where texts were put one behind the other.
  private func skipMarks() {
    while recordEnd - recordStart >= 3, block.bytes[recordStart] == 0xEF, block.bytes[recordStart + 1] == 0xBB,
      block.bytes[recordStart + 2] == 0xBF
    {
      recordStart += 3
      recordOffset += 3
    }
  }

  private var isBlank: Bool {
    var index = recordStart
    while index < recordEnd, isSpace(block.bytes[index]) { index += 1 }
    return index == recordEnd
  }

  /// All that is left of the text.
  func findWholeText() throws(InputError) -> Bool {
    beginRecord(at: nextStart)
    var index = nextStart
    repeat {
      index = block.end
      try fill(&index)
    } while !block.hasEnded
    recordEnd = block.end
    nextStart = recordEnd
    if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
    place = .end
    for index in recordStart..<recordEnd where block.bytes[index] == 0x0A { beginLine(at: index + 1) }
    while recordEnd > recordStart, isSpace(block.bytes[recordEnd - 1]) { recordEnd -= 1 }
    return true
  }

  /// The next element of the array; at its end, checks what follows.
  func findElement() throws(InputError) -> Bool {
    let isFirst = place == .firstElement
    place = .behindElement
    var byte = try skipSpace()
    if byte == 0x5D {
      nextStart += 1
      try leave()
      return false
    }
    if !isFirst {
      guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"]\" after an element of the array") }
      let comma = RecordPosition(byteOffset: block.offset + nextStart, line: line, lineOffset: lineStart)
      nextStart += 1
      byte = try skipSpace()
      if byte == 0x5D { missingElement = Self.missing(comma, "a comma before the closing \"]\"; remove it") }
    }
    beginRecord(at: nextStart)
    if byte == 0x2C {
      let comma = RecordPosition(byteOffset: recordOffset, line: line, lineOffset: lineStart)
      missingElement = Self.missing(comma, "a value is missing before this comma")
    }
    try scanElement()
    return true
  }

  private static func missing(_ comma: RecordPosition, _ message: String) -> RecordError {
    RecordError(
      rule: "unexpectedText", line: comma.line, column: comma.byteOffset - comma.lineOffset + 1,
      byteOffset: comma.byteOffset, message: message)
  }

  /// Goes behind an element, whose end is told by a comma or bracket that none in it belongs to.
  ///
  /// Of a damaged one, brackets that close nothing are a part, but for the one that ends the array.
  private func scanElement() throws(InputError) {
    var index = nextStart
    var depth = 0
    var isInString = false
    while true {
      let bytes = UnsafePointer(block.bytes)
      let end = block.end
      scan: while index < end {
        let byte = bytes[index]
        if isInString {
          if byte == 0x22 {
            isInString = false
          } else if byte == 0x5C {
            // What is escaped may be in the next block.
            if index &+ 1 == end { break scan }
            index &+= 1
          } else if byte == 0x0A {
            beginLine(at: index &+ 1)
          }
        } else {
          switch byte {
          case 0x22: isInString = true
          case 0x7B, 0x5B: depth &+= 1
          case 0x7D, 0x5D:
            if depth > 0 {
              depth &-= 1
            } else if byte == 0x5D {
              return endValue(at: index)
            }
          case 0x2C: if depth == 0 { return endValue(at: index) }
          case 0x0A: beginLine(at: index &+ 1)
          default: break
          }
        }
        index &+= 1
      }
      if block.hasEnded, depth == 0, !isInString, isOversized || index > recordStart { return endValue(at: index) }
      if block.hasEnded {
        throw InputError(
          "the text ends inside the record that begins in line \(recordLine); it was cut off, or something is not "
            + "closed")
      }
      try fill(&index)
    }
  }

  private func endValue(at index: Int) {
    nextStart = index
    recordEnd = index
    if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
    guard !isOversized else { return }
    while recordEnd > recordStart, isSpace(block.bytes[recordEnd - 1]) { recordEnd -= 1 }
  }
}

/// Whether a byte is one of the four that JSON calls white space.
func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
