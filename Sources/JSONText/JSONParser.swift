/// Reads a text from front to back, one function for each part of the grammar.
///
/// It lives no longer than the call that lent it the bytes.
struct JSONParser {
  let bytes: UnsafeRawBufferPointer
  let dialect: JSONDialect
  let limits: JSONLimits
  /// The offset of what is read next.
  var index: Int
  /// How many arrays and objects are open.
  var depth = 0
  /// Where the innermost of them begins.
  var container: Int?
  /// What a string with escapes means.
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

/// Whether a byte is part of a word: ASCII letters, digits, `_`, `$`, and what isn't ASCII.
func isWordByte(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, Byte.underscore, Byte.dollar, 0x80...: true
  default: false
  }
}
