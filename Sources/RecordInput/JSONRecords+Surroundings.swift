import DelimitedText
import JSONText

/// The way into the array and out of it.
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
    if block.end >= 3, block.bytes[0] == 0xEF, block.bytes[1] == 0xBB, block.bytes[2] == 0xBF {
      nextStart = 3
      lineStart = 3
    }
  }

  /// Goes to the value of a key of the object that is next.
  private func enter(_ key: String) throws(InputError) {
    let byte = try skipSpace()
    guard byte == 0x7B else { throw unexpected(byte, "an object with the key \"\(key)\"") }
    nextStart += 1
    if try skipSpace() == 0x7D { throw missing(key) }
    while true {
      if try readKey() == key { return }
      try passValue()
      let byte = try skipSpace()
      if byte == 0x7D { throw missing(key) }
      guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"}\" after a value") }
      nextStart += 1
    }
  }

  /// Goes to the end of the text, out of all objects around the array.
  func leave() throws(InputError) {
    for _ in form.path {
      while true {
        let byte = try skipSpace()
        if byte == 0x7D { break }
        guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"}\" after a value") }
        nextStart += 1
        _ = try readKey()
        try passValue()
      }
      nextStart += 1
    }
    let byte = try skipSpace()
    if byte != nil { throw unexpected(byte, "the end of the text") }
    place = .end
  }

  /// Goes to the next byte that is not white space, and returns it; nil at the end.
  @discardableResult
  func skipSpace() throws(InputError) -> UInt8? {
    while true {
      while nextStart < block.end {
        let byte = block.bytes[nextStart]
        guard isSpace(byte) else { return byte }
        nextStart += 1
        if byte == 0x0A { beginLine(at: nextStart) }
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

  func unexpected(_ byte: UInt8?, _ expectation: String) -> InputError {
    guard let byte else {
      return InputError("the text ends in line \(line), where \(expectation) should come; it was cut off")
    }
    let found = byte > 0x20 && byte < 0x7F ? "\"\(Character(Unicode.Scalar(byte)))\"" : "the byte \(byte)"
    return InputError("line \(line): \(found) stands where \(expectation) should come")
  }
}

/// The text around the array of records, which is skipped but must be JSON as well.
extension JSONRecords {
  /// Skips a value; of a large one, only one key or string is in memory at a time.
  func passValue() throws(InputError) {
    /// True if what is open is an object, from the outside in.
    var open: [Bool] = []
    repeat {
      let byte = try skipSpace()
      if byte == 0x7B || byte == 0x5B {
        guard open.count < JSONScan.depthLimit else {
          throw InputError("line \(line): more than \(JSONScan.depthLimit) arrays and objects inside each other")
        }
        let isObject = byte == 0x7B
        nextStart += 1
        open.append(isObject)
        if try skipSpace() != (isObject ? 0x7D : 0x5D) {
          if isObject { _ = try readKey() }
          continue
        }
        nextStart += 1
        open.removeLast()
      } else {
        try passScalar(byte)
      }
      try closeValues(&open)
    } while !open.isEmpty
  }

  /// Skips the comma after a value, and leaves everything that ends before it.
  private func closeValues(_ open: inout [Bool]) throws(InputError) {
    while let isObject = open.last {
      let byte = try skipSpace()
      if byte != 0x2C, byte != (isObject ? 0x7D : 0x5D) {
        throw unexpected(byte, isObject ? "\",\" or \"}\" after a value" : "\",\" or \"]\" after an element")
      }
      nextStart += 1
      if byte == 0x2C {
        if isObject { _ = try readKey() }
        return
      }
      open.removeLast()
    }
  }

  /// Reads a key and the colon after it.
  func readKey() throws(InputError) -> String {
    let byte = try skipSpace()
    guard byte == 0x22 else { throw unexpected(byte, "a key in quotes") }
    let text = try readToken(byte)
    guard let key = try? JSONValue(parsing: text).string else {
      throw unexpected(byte, "a key without control characters")
    }
    let colon = try skipSpace()
    guard colon == 0x3A else { throw unexpected(colon, "\":\" after a key") }
    nextStart += 1
    return key
  }

  private func passScalar(_ byte: UInt8?) throws(InputError) {
    let text = try readToken(byte)
    var scan = JSONScan(block.bytes + recordStart, count: text.count)
    guard scan.value(0) == text.count, isValidUTF8(text) else { throw unexpected(byte, "a value") }
  }

  /// The bytes of a text in quotes, a number or a word; valid until more is read.
  private func readToken(_ byte: UInt8?) throws(InputError) -> UnsafeRawBufferPointer {
    recordStart = nextStart
    var index = nextStart + (byte == 0x22 ? 1 : 0)
    while true {
      if index >= block.end {
        if block.hasEnded {
          if byte == 0x22 { throw unexpected(nil, "a quote at the end of a text") }
          break
        }
        let keep = recordStart
        if index - keep > options.maxRecordSize {
          throw InputError("line \(line): a text beside the records is more than \(options.maxRecordSize) bytes")
        }
        try block.fill(keeping: keep)
        recordStart = 0
        index -= keep
        continue
      }
      let next = block.bytes[index]
      if byte == 0x22 {
        if next == 0x22 {
          index += 1
          break
        }
        index += next == 0x5C ? 2 : 1
      } else {
        if isSpace(next) || next == 0x2C || next == 0x3A || next == 0x5D || next == 0x7D { break }
        index += 1
      }
    }
    nextStart = min(index, block.end)
    return UnsafeRawBufferPointer(start: block.bytes + recordStart, count: nextStart - recordStart)
  }
}
