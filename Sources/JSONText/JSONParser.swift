/// Reads a text from front to back, one function for each part of the grammar.
///
/// It lives no longer than the call that lent it the bytes.
struct JSONParser {
  let bytes: UnsafeRawBufferPointer
  let dialect: JSONDialect
  let limits: JSONLimits
  /// The offset of what is read next.
  var index: Int
  /// The number of open arrays and objects.
  var depth = 0
  /// The offset at which the innermost of them begins.
  var container: Int?
  /// The text of a string with escapes, as far as it is read.
  var unescaped: [UInt8] = []

  /// Checks the encoding of the whole text and skips a byte order mark.
  init(_ bytes: UnsafeRawBufferPointer, dialect: JSONDialect, limits: JSONLimits) throws(JSONError) {
    self.bytes = bytes
    self.dialect = dialect
    self.limits = limits
    index = 0
    index = start
    try checkEncoding()
  }

  /// The offset of the first byte after a byte order mark.
  var start: Int {
    bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
  }

  var isAtEnd: Bool { index >= bytes.count }

  /// The next byte; NUL, which begins nothing in the grammar, at the end.
  var next: UInt8 {
    @inline(__always) get { byte(at: index) }
  }

  @inline(__always)
  func byte(at offset: Int) -> UInt8 {
    offset < bytes.count ? bytes[offset] : 0
  }

  mutating func wholeText() throws(JSONError) -> JSONValue {
    try skipSpace()
    let result = try value()
    try skipSpace()
    guard isAtEnd else { throw unexpected("expected the end of the text after its value") }
    return result
  }

  mutating func value() throws(JSONError) -> JSONValue {
    switch next {
    case Byte.quote:
      return .string(try string())
    case Byte.openBrace:
      return .object(try object())
    case Byte.openBracket:
      return .array(try array())
    case Byte.zero...Byte.nine, Byte.minus:
      return try number()
    case 0x74 where skip(word: "true"):
      return .bool(true)
    case 0x66 where skip(word: "false"):
      return .bool(false)
    case 0x6E where skip(word: "null"):
      return .null
    case Byte.apostrophe where dialect == .json5:
      return .string(try string())
    case Byte.plus where dialect == .json5, Byte.period where dialect == .json5:
      return try number()
    default:
      throw missingValue()
    }
  }

  /// Skips a word that no further letter or digit follows.
  private mutating func skip(word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard index + count <= bytes.count, !isWordByte(byte(at: index + count)) else { return false }
    for offset in 0..<count where bytes[index + offset] != word.utf8Start[offset] { return false }
    index += count
    return true
  }
}

/// True if a byte is part of a word: ASCII letters, digits, `_`, `$`, and what isn't ASCII.
func isWordByte(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, Byte.underscore, Byte.dollar, 0x80...: true
  default: false
  }
}

extension JSONParser {
  mutating func array() throws(JSONError) -> [JSONValue] {
    let outer = try open()
    var elements: [JSONValue] = []
    while try goToElement(closing: Byte.closeBracket, isFirst: elements.isEmpty) {
      elements.append(try value())
    }
    close(outer)
    return elements
  }

  mutating func object() throws(JSONError) -> JSONObject {
    let start = index
    let outer = try open()
    var object = JSONObject()
    while try goToElement(closing: Byte.closeBrace, isFirst: object.isEmpty) {
      let place = index
      let key = try key()
      if let existing = object.index(of: key) {
        if limits.duplicateKeys == .error { throw duplicate(key, at: place, inObjectAt: start) }
        object.replaceValue(at: existing, with: try value())
      } else {
        object.appendNew(key, try value())
      }
    }
    close(outer)
    return object
  }

  /// Skips an opening bracket and returns where the container around this one begins.
  mutating func open() throws(JSONError) -> Int? {
    guard depth < limits.depth else {
      throw failure(.tooDeep, at: index, "more than \(limits.depth) arrays and objects inside each other")
    }
    let outer = container
    container = index
    depth += 1
    index += 1
    return outer
  }

  mutating func close(_ outer: Int?) {
    depth -= 1
    container = outer
  }

  /// Goes to the next element or key, past the comma before it; false past the closing bracket.
  mutating func goToElement(closing: UInt8, isFirst: Bool) throws(JSONError) -> Bool {
    try skipSpace()
    if next == closing {
      index += 1
      return false
    }
    if isFirst { return true }
    guard next == Byte.comma else {
      let what = closing == Byte.closeBrace ? "\",\" or \"}\" after a value" : "\",\" or \"]\" after an element"
      throw unexpected("expected \(what)")
    }
    let comma = index
    index += 1
    try skipSpace()
    guard next == closing else { return true }
    guard dialect == .json5 else {
      let bracket = closing == Byte.closeBrace ? "}" : "]"
      throw failure(.unexpectedText, at: comma, "a comma before the closing \"\(bracket)\"; remove it")
    }
    index += 1
    return false
  }

  /// Reads a key and its colon, and goes to its value.
  mutating func key() throws(JSONError) -> String {
    let isQuoted = next == Byte.quote || (next == Byte.apostrophe && dialect == .json5)
    guard isQuoted || dialect == .json5 else { throw missingKey() }
    let key = isQuoted ? try string() : try identifier()
    try skipSpace()
    guard next == Byte.colon else {
      throw unexpected(
        "expected \":\" after the key \"\(quotable(key))\"", hint: isQuoted ? "" : "; put the whole key in quotes")
    }
    index += 1
    try skipSpace()
    return key
  }

  /// Reads a key without quotes.
  private mutating func identifier() throws(JSONError) -> String {
    let start = index
    while isWordByte(next) {
      if next < 0x80 {
        if index == start, (Byte.zero...Byte.nine).contains(next) { throw missingKey() }
        index += 1
      } else {
        let scalar = scalar(at: index)
        let fits = index == start ? scalar.properties.isIDStart : scalar.properties.isIDContinue
        guard fits || scalar == "\u{200C}" || scalar == "\u{200D}" else { break }
        index += UTF8.width(scalar)
      }
    }
    guard index > start else { throw missingKey() }
    return text(start..<index)
  }
}

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

  /// True if one of the line ends of JSON5 is there: LF, CR, U+2028 or U+2029.
  private func isLineEnd(at offset: Int) -> Bool {
    switch byte(at: offset) {
    case Byte.lineFeed, Byte.carriageReturn: true
    case 0xE2: byte(at: offset + 1) == 0x80 && byte(at: offset + 2) & 0xFE == 0xA8
    default: false
    }
  }
}

extension JSONParser {
  /// Throws for text that isn't UTF-8, with the place of the first wrong byte.
  func checkEncoding() throws(JSONError) {
    guard let base = bytes.baseAddress else { return }
    var offset = 0
    var seen: UInt64 = 0
    while offset &+ 8 <= bytes.count {
      seen |= base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset &+= 8
    }
    while offset < bytes.count {
      seen |= UInt64(bytes[offset])
      offset &+= 1
    }
    guard seen & 0x8080_8080_8080_8080 != 0 else { return }
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))
    } catch {
      let place = error.byteOffsets.lowerBound
      let code = String(bytes[place], radix: 16, uppercase: true)
      throw failure(.notUTF8, at: place, "the byte 0x\(code) is not UTF-8; save the text as UTF-8")
    }
  }

  /// The text of a range, which is known to be UTF-8.
  @inline(__always)
  func text(_ range: Range<Int>) -> String {
    String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
  }

  /// The scalar that begins at an offset before the end.
  func scalar(at offset: Int) -> Unicode.Scalar {
    var decoder = UTF8()
    var rest = bytes[offset..<min(offset + 4, bytes.count)].makeIterator()
    if case .scalarValue(let scalar) = decoder.decode(&rest) { return scalar }
    return "\u{FFFD}"
  }
}

/// The grammar that a text must follow.
public enum JSONDialect: Sendable, Hashable {
  /// RFC 8259, nothing more; a byte order mark is skipped.
  case json
  /// JSON5 1.0.0: comments, trailing commas, single quotes, unquoted keys, hexadecimal numbers, line continuations.
  ///
  /// Infinity and NaN are refused, because no JSON text could carry them on; so are escapes in unquoted keys.
  case json5
}

/// Limits on texts that the grammar allows.
public struct JSONLimits: Sendable, Hashable {
  /// The treatment of a key that occurs twice in an object.
  public enum DuplicateKeys: Sendable, Hashable {
    /// Throw an error that names both places.
    case error
    /// Take the last value, at the first one's position.
    case useLast
  }

  /// The most arrays and objects that may be open at once.
  public let depth: Int
  /// The treatment of a key that occurs twice in an object.
  public let duplicateKeys: DuplicateKeys

  /// Limits that suit text from strangers.
  ///
  /// - Parameter depth: 1 to 512; parsing, comparing, writing and freeing a value need stack for each level.
  public init(depth: Int = 64, duplicateKeys: DuplicateKeys = .error) {
    precondition((1...512).contains(depth), "a depth is 1 to 512")
    self.depth = depth
    self.duplicateKeys = duplicateKeys
  }
}
