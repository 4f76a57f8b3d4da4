extension JSONParser {
  /// Skips white space and, in JSON5, comments.
  @inline(__always)
  mutating func skipSpace() throws(JSONError) {
    while index < bytes.count {
      let byte = bytes[index]
      if byte == Byte.space || byte == Byte.lineFeed || byte == Byte.tab || byte == Byte.carriageReturn {
        index &+= 1
      } else if byte > Byte.space, byte < 0x80, byte != Byte.slash {
        return
      } else if try !skipRareSpace() {
        return
      }
    }
  }

  /// Skips one comment or one white space that only JSON5 has; false if there is none.
  private mutating func skipRareSpace() throws(JSONError) -> Bool {
    if next == Byte.slash, byte(at: index + 1) == Byte.slash || byte(at: index + 1) == Byte.asterisk {
      guard dialect == .json5 else {
        throw failure(.unexpectedText, at: index, "a comment, which JSON doesn't have; remove it")
      }
      try skipComment()
      return true
    }
    guard dialect == .json5, !isAtEnd else { return false }
    if next == 0x0B || next == 0x0C {
      index += 1
      return true
    }
    guard next >= 0x80 else { return false }
    let scalar = scalar(at: index)
    let isSpace =
      scalar == "\u{FEFF}" || scalar == "\u{2028}" || scalar == "\u{2029}"
      || scalar.properties.generalCategory == .spaceSeparator
    if isSpace { index += UTF8.width(scalar) }
    return isSpace
  }

  private mutating func skipComment() throws(JSONError) {
    let start = index
    let isBlock = byte(at: index + 1) == Byte.asterisk
    index += 2
    while !isAtEnd {
      if isBlock {
        if next == Byte.asterisk, byte(at: index + 1) == Byte.slash {
          index += 2
          return
        }
      } else if isLineEnd(at: index) {
        return
      }
      index += 1
    }
    if isBlock {
      throw failure(.unexpectedEnd, at: index, "the text ends inside a comment that begins at \(place(of: start))")
    }
  }

  /// Whether one of the line ends of JSON5 is there: LF, CR, U+2028 or U+2029.
  private func isLineEnd(at offset: Int) -> Bool {
    switch byte(at: offset) {
    case Byte.lineFeed, Byte.carriageReturn: true
    case 0xE2: byte(at: offset + 1) == 0x80 && byte(at: offset + 2) & 0xFE == 0xA8
    default: false
    }
  }
}
