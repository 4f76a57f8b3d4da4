import Glibc
import JSONText

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
          line += 1
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
      if recordEnd > recordStart, block.bytes[recordEnd - 1] == 0x0D { recordEnd -= 1 }
      if !isBlank || isOversized { return true }
      if block.hasEnded, nextStart == block.end { return false }
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
    for index in recordStart..<recordEnd where block.bytes[index] == 0x0A { line += 1 }
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
      nextStart += 1
      byte = try skipSpace()
    }
    beginRecord(at: nextStart)
    try scanValue(closing: 0x5D, "the record that begins in line \(recordLine)")
    return true
  }

  /// Goes behind a value, whose end is told by a comma or bracket that none in it belongs to.
  ///
  /// Of a damaged value, brackets that close nothing are a part, but for the one that ends what it is in.
  private func scanValue(closing: UInt8, _ name: @autoclosure () -> String) throws(InputError) {
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
            line &+= 1
          }
        } else {
          switch byte {
          case 0x22: isInString = true
          case 0x7B, 0x5B: depth &+= 1
          case 0x7D, 0x5D:
            if depth > 0 {
              depth &-= 1
            } else if byte == closing {
              return endValue(at: index)
            }
          case 0x2C: if depth == 0 { return endValue(at: index) }
          case 0x0A: line &+= 1
          default: break
          }
        }
        index &+= 1
      }
      if block.hasEnded, depth == 0, !isInString, isOversized || index > recordStart { return endValue(at: index) }
      if block.hasEnded {
        throw InputError("the text ends inside \(name()); it was cut off, or something is not closed")
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

/// The way to the array and out of it.
extension JSONRecords {
  /// Goes to the first record: into the array, wherever it is.
  func enter() throws(InputError) {
    recordStart = nextStart
    if block.offset == 0 { try skipMark() }
    guard form.format == .json else {
      place = .lines
      return
    }
    for key in form.path { try enter(key) }
    let byte = try skipSpace()
    if byte == 0x5B {
      nextStart += 1
      place = .firstElement
    } else if form.path.isEmpty {
      if byte == nil { throw InputError("the text is empty; it should be JSON") }
      place = .wholeText
    } else {
      throw unexpected(byte, "an array at the path \"\(form.path.joined(separator: "."))\"")
    }
  }

  private func skipMark() throws(InputError) {
    while block.end < 3, !block.hasEnded { try block.fill(keeping: 0) }
    if block.end >= 3, block.bytes[0] == 0xEF, block.bytes[1] == 0xBB, block.bytes[2] == 0xBF { nextStart = 3 }
  }

  /// Goes to the value of a key of the object that is next.
  private func enter(_ key: String) throws(InputError) {
    let byte = try skipSpace()
    guard byte == 0x7B else { throw unexpected(byte, "an object with the key \"\(key)\"") }
    nextStart += 1
    if try skipSpace() == 0x7D { throw missing(key) }
    while true {
      if try readKey() == key { return }
      try skipSpace()
      beginRecord(at: nextStart)
      isOversized = true
      try scanValue(closing: 0x7D, "the value before the key \"\(key)\"")
      let byte = try skipSpace()
      if byte == 0x7D { throw missing(key) }
      guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"}\" after a value") }
      nextStart += 1
    }
  }

  /// Goes to the end of the text, out of all objects around the array.
  private func leave() throws(InputError) {
    for _ in form.path {
      while true {
        let byte = try skipSpace()
        if byte == 0x7D { break }
        guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"}\" after a value") }
        nextStart += 1
        _ = try readKey()
        try skipSpace()
        beginRecord(at: nextStart)
        isOversized = true
        try scanValue(closing: 0x7D, "a value behind the array")
      }
      nextStart += 1
    }
    let byte = try skipSpace()
    if byte != nil { throw unexpected(byte, "the end of the text") }
    place = .end
  }

  /// A key and the colon behind it.
  private func readKey() throws(InputError) -> String {
    let byte = try skipSpace()
    guard byte == 0x22 else { throw unexpected(byte, "a key in quotes") }
    recordStart = nextStart
    var index = nextStart + 1
    while true {
      if index >= block.end {
        guard !block.hasEnded else { throw unexpected(nil, "a quote at the end of a key") }
        let keep = recordStart
        try block.fill(keeping: keep)
        recordStart = 0
        index -= keep
        continue
      }
      if block.bytes[index] == 0x22 { break }
      index += block.bytes[index] == 0x5C ? 2 : 1
    }
    nextStart = index + 1
    let text = UnsafeRawBufferPointer(start: block.bytes + recordStart, count: nextStart - recordStart)
    // What is no string leads nowhere.
    let key = (try? JSONValue(parsing: text))?.string ?? ""
    let colon = try skipSpace()
    guard colon == 0x3A else { throw unexpected(colon, "\":\" after a key") }
    nextStart += 1
    return key
  }

  /// Goes to the next byte that is no space, and returns it; nil at the end.
  @discardableResult
  private func skipSpace() throws(InputError) -> UInt8? {
    while true {
      while nextStart < block.end {
        let byte = block.bytes[nextStart]
        guard isSpace(byte) else { return byte }
        if byte == 0x0A { line += 1 }
        nextStart += 1
      }
      if block.hasEnded { return nil }
      recordStart = nextStart
      try block.fill(keeping: nextStart)
      nextStart = 0
      recordStart = 0
    }
  }

  private func missing(_ key: String) -> InputError {
    InputError("line \(line): there is no key \"\(key)\", which should lead to the records")
  }

  private func unexpected(_ byte: UInt8?, _ expectation: String) -> InputError {
    guard let byte else {
      return InputError("the text ends in line \(line), where \(expectation) should come; it was cut off")
    }
    let found = byte > 0x20 && byte < 0x7F ? "\"\(Character(Unicode.Scalar(byte)))\"" : "the byte \(byte)"
    return InputError("line \(line): \(found) stands where \(expectation) should come")
  }
}

private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
