extension JSONParser {
  func failure(_ code: JSONError.Code, at offset: Int, _ message: String) -> JSONError {
    let place = place(of: offset)
    return JSONError(code: code, line: place.line, column: place.column, byteOffset: offset, message: message)
  }

  /// Returns an offset's line and column; counted only on demand.
  func place(of offset: Int) -> JSONPlace {
    JSONPlace(of: offset, in: bytes, from: start)
  }

  /// Makes the error for anything but `expectation` at the current offset, or for the end of the text.
  func unexpected(_ expectation: String, hint: String = "", code: JSONError.Code = .unexpectedText) -> JSONError {
    if isAtEnd { return end() }
    return failure(code, at: index, "\(expectation), found \(found(at: index))\(hint)")
  }

  private func end() -> JSONError {
    guard let container else {
      return failure(.unexpectedEnd, at: index, index == start ? "the text is empty" : "the text ends before its value")
    }
    let kind = bytes[container] == Byte.openBrace ? "an object" : "an array"
    let place = place(of: container)
    return failure(
      .unexpectedEnd, at: index,
      "the text ends inside \(kind) that begins at \(isLine ? "column \(place.column)" : "line \(place.line)")")
  }

  /// True for a text of one line, which may be a line of a larger text and is not the first there.
  private var isLine: Bool { !bytes.contains(Byte.lineFeed) }

  func endInString(openedAt open: Int) -> JSONError {
    failure(
      .unexpectedEnd, at: bytes.count,
      "the text ends inside a string that begins at \(isLine ? "column \(place(of: open).column)" : "\(place(of: open))")"
    )
  }

  func missingValue() -> JSONError {
    if let error = notFinite(at: index) { return error }
    var hint = ""
    switch next {
    case Byte.apostrophe:
      hint = "; strings take double quotes"
    case Byte.period:
      hint = "; write 0 before the point"
    case Byte.plus:
      hint = "; remove the plus sign"
    case let byte where isWordByte(byte) && isShown(scalar(at: index)):
      hint = Self.literal(like: word(at: index)).map { "; did you mean \($0)?" } ?? "; put text in double quotes"
    default:
      break
    }
    return unexpected("expected a value", hint: hint)
  }

  func missingKey() -> JSONError {
    switch next {
    case Byte.apostrophe: unexpected("expected a key", hint: "; keys take double quotes")
    case let byte where isWordByte(byte): unexpected("expected a key", hint: "; put it in double quotes")
    case Byte.backslash: unexpected("expected a key", hint: "; put a key with escapes in quotes")
    default: unexpected("expected a key in quotes")
    }
  }

  /// The error about Infinity and NaN, if one of them is there.
  func notFinite(at offset: Int) -> JSONError? {
    let sign = byte(at: offset) == Byte.plus || byte(at: offset) == Byte.minus ? 1 : 0
    let name = word(at: offset + sign)
    guard ["nan", "infinity", "inf"].contains(name.lowercased()) else { return nil }
    return failure(
      .invalidNumber, at: offset, "\(word(at: offset)) is not a number that JSON can carry; write null or a string")
  }

  func unknownEscape(at offset: Int) -> JSONError {
    let scalar = scalar(at: offset + 1)
    let escape = isShown(scalar) ? "\"\\\(scalar)\"" : "a backslash before \(codePoint(scalar))"
    return failure(.invalidString, at: offset, "\(escape) is not an escape; write \\\\ for a backslash")
  }

  /// - Parameter place: The offset of the second one.
  func duplicate(_ key: String, at place: Int, inObjectAt object: Int) -> JSONError {
    var first = ""
    if let offset = offset(ofKey: key, inObjectAt: object) { first = "; first at line \(self.place(of: offset).line)" }
    return failure(.duplicateKey, at: place, "the key \"\(quotable(key))\" occurs twice\(first)")
  }

  private static func literal(like word: String) -> String? {
    let lower = word.lowercased()
    if lower == "none" || lower == "nil" || lower == "undefined" { return "null" }
    return ["true", "false", "null"].first { $0.hasPrefix(lower) }
  }

  /// Describes the text at an offset, in quotes if it can be shown.
  func found(at offset: Int) -> String {
    guard offset < bytes.count else { return "the end of the text" }
    let scalar = scalar(at: offset)
    guard isShown(scalar) else { return codePoint(scalar) }
    if scalar == "\"" { return "a quote" }
    let word = word(at: offset)
    return "\"\(word.isEmpty ? String(scalar) : quotable(word))\""
  }

  /// The letters, digits, signs and points from an offset on.
  private func word(at offset: Int) -> String {
    var end = offset
    while end < bytes.count {
      let byte = bytes[end]
      // A message shows 40 characters of four bytes at most; the rest of the last one belongs to it.
      if end - offset >= 200, byte & 0xC0 != 0x80 { break }
      guard isWordByte(byte) || byte == Byte.period || byte == Byte.plus || byte == Byte.minus else { break }
      end += 1
    }
    return text(offset..<max(offset, end))
  }
}

extension JSONParser {
  /// Returns the offset of a key by reading the object again.
  ///
  /// Reading a text twice when something is wrong with it costs less than keeping every key's place when nothing is.
  func offset(ofKey wanted: String, inObjectAt start: Int) -> Int? {
    var parser = self
    parser.index = start
    return try? parser.goToMember(wanted)
  }

  /// Returns the offset of the key or element at a path; an element's step is its index from 0.
  ///
  /// Nil if there is none.
  mutating func offset(of path: [String]) -> Int? {
    var offset = index
    do throws(JSONError) {
      try skipSpace()
      offset = index
      for step in path {
        let found =
          switch next {
          case Byte.openBrace: try goToMember(step)
          case Byte.openBracket: try goToElement(step)
          default: Int?.none
          }
        guard let found else { return nil }
        offset = found
      }
      return offset
    } catch {
      return nil
    }
  }

  /// Goes to a member's value and returns where its key begins.
  private mutating func goToMember(_ wanted: String) throws(JSONError) -> Int? {
    _ = try open()
    var isFirst = true
    while try goToElement(closing: Byte.closeBrace, isFirst: isFirst) {
      isFirst = false
      let place = index
      if try key() == wanted { return place }
      _ = try value()
    }
    return nil
  }

  /// Goes to an element and returns where it begins.
  private mutating func goToElement(_ wanted: String) throws(JSONError) -> Int? {
    guard let wanted = Int(wanted) else { return nil }
    _ = try open()
    var count = 0
    while try goToElement(closing: Byte.closeBracket, isFirst: count == 0) {
      if count == wanted { return index }
      count += 1
      _ = try value()
    }
    return nil
  }
}

/// A line and a column, both from 1.
struct JSONPlace: CustomStringConvertible {
  var line = 1
  /// In Unicode scalars.
  var column = 1

  var description: String { "line \(line), column \(column)" }

  /// Counts from the start of the text, after a byte order mark; a line ends with LF, CR LF or CR.
  init(of offset: Int, in bytes: UnsafeRawBufferPointer, from start: Int) {
    var index = start
    while index < min(offset, bytes.count) {
      let byte = bytes[index]
      index += 1
      let isInsideLineEnd = byte == Byte.carriageReturn && index < bytes.count && bytes[index] == Byte.lineFeed
      if byte == Byte.lineFeed || byte == Byte.carriageReturn, !isInsideLineEnd {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }
}
