extension JSONParser {
  /// A string with its quotes; most have no escape and are copied in one piece.
  mutating func string() throws(JSONError) -> String {
    let open = index
    let quote = next
    index += 1
    while index < bytes.count {
      let byte = bytes[index]
      if byte == quote {
        let result = text(open + 1..<index)
        index += 1
        return result
      }
      if byte == Byte.backslash { return try stringWithEscapes(openedAt: open, quote) }
      if byte < Byte.space { try checkControl(byte, openedAt: open) }
      index &+= 1
    }
    throw endInString(openedAt: open)
  }

  /// Goes on at a string's first escape.
  private mutating func stringWithEscapes(openedAt open: Int, _ quote: UInt8) throws(JSONError) -> String {
    unescaped.removeAll(keepingCapacity: true)
    unescaped.append(contentsOf: bytes[open + 1..<index])
    while index < bytes.count {
      let byte = bytes[index]
      if byte == quote {
        index += 1
        return String(decoding: unescaped, as: UTF8.self)
      }
      if byte == Byte.backslash {
        try escape(openedAt: open)
      } else {
        if byte < Byte.space { try checkControl(byte, openedAt: open) }
        unescaped.append(byte)
        index += 1
      }
    }
    throw endInString(openedAt: open)
  }

  /// Reads an escape and appends what it means.
  private mutating func escape(openedAt open: Int) throws(JSONError) {
    let start = index
    index += 2
    switch byte(at: start + 1) {
    case Byte.quote: unescaped.append(Byte.quote)
    case Byte.backslash: unescaped.append(Byte.backslash)
    case Byte.slash: unescaped.append(Byte.slash)
    case UInt8(ascii: "b"): unescaped.append(0x08)
    case UInt8(ascii: "f"): unescaped.append(0x0C)
    case UInt8(ascii: "n"): unescaped.append(Byte.lineFeed)
    case UInt8(ascii: "r"): unescaped.append(Byte.carriageReturn)
    case UInt8(ascii: "t"): unescaped.append(Byte.tab)
    case UInt8(ascii: "u"): append(try escapedScalar(at: start, openedAt: open))
    default:
      if start + 1 >= bytes.count { throw endInString(openedAt: open) }
      guard dialect == .json5 else { throw unknownEscape(at: start) }
      try escapeOfJSON5(at: start, openedAt: open)
    }
  }

  private mutating func escapeOfJSON5(at start: Int, openedAt open: Int) throws(JSONError) {
    let byte = bytes[start + 1]
    switch byte {
    case UInt8(ascii: "v"):
      unescaped.append(0x0B)
    case Byte.zero where !(Byte.zero...Byte.nine).contains(next):
      unescaped.append(0)
    case UInt8(ascii: "x"):
      append(Unicode.Scalar(UInt8(try hexadecimal(2, escapeAt: start, openedAt: open))))
    case Byte.zero...Byte.nine:
      throw unknownEscape(at: start)
    case Byte.lineFeed:
      break
    case Byte.carriageReturn:
      if next == Byte.lineFeed { index += 1 }
    default:
      // Any other character stands for itself, except the two line ends that aren't ASCII: they continue the line.
      let scalar = scalar(at: start + 1)
      index = start + 1 + UTF8.width(scalar)
      if scalar != "\u{2028}", scalar != "\u{2029}" { append(scalar) }
    }
  }

  /// The scalar of a `\u` escape, or of two that are a surrogate pair.
  private mutating func escapedScalar(at start: Int, openedAt open: Int) throws(JSONError) -> Unicode.Scalar {
    let first = try hexadecimal(4, escapeAt: start, openedAt: open)
    if let scalar = Unicode.Scalar(first) { return scalar }
    let low = index
    if UTF16.isLeadSurrogate(UInt16(first)), next == Byte.backslash, byte(at: index + 1) == UInt8(ascii: "u") {
      index += 2
      let second = try hexadecimal(4, escapeAt: low, openedAt: open)
      if UTF16.isTrailSurrogate(UInt16(second)),
        let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
      {
        return scalar
      }
    }
    throw failure(
      .invalidString, at: start, "\"\(text(start..<low))\" is half of a surrogate pair, which is no character alone")
  }

  /// The value of exactly `count` hexadecimal digits.
  private mutating func hexadecimal(
    _ count: Int, escapeAt start: Int, openedAt open: Int
  ) throws(JSONError) -> UInt32 {
    var result: UInt32 = 0
    for _ in 0..<count {
      guard let digit = Byte.hexadecimalValue(next) else {
        if isAtEnd { throw endInString(openedAt: open) }
        let form = count == 4 ? "\\u" : "\\x"
        throw unexpected("expected \(count) hexadecimal digits after \"\(form)\"", code: .invalidString)
      }
      result = result << 4 | digit
      index += 1
    }
    return result
  }

  private mutating func append(_ scalar: Unicode.Scalar) {
    unescaped.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
  }

  /// Refuses a control character inside a string; JSON5 refuses only line ends.
  private func checkControl(_ byte: UInt8, openedAt open: Int) throws(JSONError) {
    let isLineEnd = byte == Byte.lineFeed || byte == Byte.carriageReturn
    guard dialect == .json || isLineEnd else { return }
    if isLineEnd {
      throw failure(
        .invalidString, at: index,
        "a line ends inside the string that begins at column \(place(of: open).column); close it, or write \\n")
    }
    if byte == Byte.tab { throw failure(.invalidString, at: index, "a tab inside a string; write \\t") }
    let code = codePoint(Unicode.Scalar(byte))
    throw failure(
      .invalidString, at: index, "the control character \(code) inside a string; write \\u\(code.dropFirst(2))")
  }
}
