import JSONText

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

  /// Goes to the next byte that is no space, and returns it; nil at the end.
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
