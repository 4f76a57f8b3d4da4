extension JSONParser {
  // Every power of ten that a Double holds exactly.
  private static let powersOfTen: InlineArray<23, Double> = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]

  /// The digits of a number, its decimal point left out.
  private struct Digits {
    var value: UInt64 = 0
    /// Without leading zeros; more than 19 don't fit into the value.
    var significantCount = 0
  }

  mutating func number() throws(JSONError) -> JSONValue {
    let start = index
    let isNegative = next == Byte.minus
    if isNegative || next == Byte.plus { index += 1 }
    if dialect == .json5, next == Byte.zero, byte(at: index + 1) | Byte.lowerCaseBit == UInt8(ascii: "x") {
      return try hexadecimalNumber(from: start, isNegative)
    }
    var digits = Digits()
    let wholeStart = index
    let wholeCount = readDigits(&digits)
    if wholeCount > 1, bytes[wholeStart] == Byte.zero {
      throw failure(.invalidNumber, at: wholeStart, "a number begins with 0; remove the zeros")
    }
    let mayLackDigits = dialect == .json5
    guard wholeCount > 0 || (mayLackDigits && next == Byte.period) else { throw missingDigit(from: start) }
    var isInteger = true
    var exponent = 0
    if next == Byte.period {
      isInteger = false
      index += 1
      let count = readDigits(&digits)
      guard count > 0 || (mayLackDigits && wholeCount > 0) else { throw missingDigit(from: start) }
      exponent = -count
    }
    if next | Byte.lowerCaseBit == UInt8(ascii: "e") {
      isInteger = false
      exponent += try writtenExponent(from: start)
    }
    if isInteger, let integer = integer(digits, isNegative) { return .integer(integer) }
    let number = try double(digits, exponent: exponent, isNegative: isNegative, from: start)
    if isInteger { try checkExactness(of: number, UInt128(text(wholeStart..<index)), from: start) }
    return .number(number)
  }

  /// Refuses a whole number that would become another one: it is somebody's account, and no measurement.
  ///
  /// - Parameter magnitude: what is written; nil if it has more than 128 bits.
  private func checkExactness(of number: Double, _ magnitude: UInt128?, from start: Int) throws(JSONError) {
    if let magnitude, UInt128(exactly: number.magnitude) == magnitude { return }
    throw failure(
      .invalidNumber, at: start,
      "the whole number \(found(at: start)) is too large to be kept exactly; write it as a text, or with an exponent"
    )
  }

  /// Reads digits and returns how many there are.
  private mutating func readDigits(_ digits: inout Digits) -> Int {
    let start = index
    while index < bytes.count {
      let digit = bytes[index] &- Byte.zero
      guard digit <= 9 else { break }
      if digit != 0 || digits.significantCount > 0 { digits.significantCount &+= 1 }
      digits.value = digits.value &* 10 &+ UInt64(digit)
      index &+= 1
    }
    return index - start
  }

  private mutating func writtenExponent(from start: Int) throws(JSONError) -> Int {
    index += 1
    let isNegative = next == Byte.minus
    if isNegative || next == Byte.plus { index += 1 }
    var digits = Digits()
    guard readDigits(&digits) > 0 else { throw missingDigit(from: start) }
    // Any larger exponent makes any number that fits into memory infinite or zero.
    let magnitude = digits.significantCount > 18 ? 1 << 60 : Int(digits.value)
    return isNegative ? -magnitude : magnitude
  }

  private func integer(_ digits: Digits, _ isNegative: Bool) -> Int64? {
    guard digits.significantCount <= 19 else { return nil }
    guard isNegative else { return Int64(exactly: digits.value) }
    return digits.value <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- digits.value) : nil
  }

  /// The nearest Double.
  ///
  /// Up to 2^53 as digits and 22 as exponent of ten, both factors are exact and so the one operation rounds exactly
  /// (W. Clinger, "How to read floating point numbers accurately"); longer numbers take the standard library's way.
  private func double(
    _ digits: Digits, exponent: Int, isNegative: Bool, from start: Int
  ) throws(JSONError) -> Double {
    if digits.significantCount <= 19, digits.value <= 1 << 53, (-22...22).contains(exponent) {
      let factor = Self.powersOfTen[abs(exponent)]
      let magnitude = exponent < 0 ? Double(digits.value) / factor : Double(digits.value) * factor
      return isNegative ? -magnitude : magnitude
    }
    return try finite(Double(text(start..<index)), from: start)
  }

  private func finite(_ number: Double?, from start: Int) throws(JSONError) -> Double {
    guard let number, number.isFinite else {
      throw failure(.invalidNumber, at: start, "the number \(found(at: start)) is too large; 1.8e308 is the largest")
    }
    return number
  }

  private mutating func hexadecimalNumber(from start: Int, _ isNegative: Bool) throws(JSONError) -> JSONValue {
    index += 2
    let first = index
    while Byte.hexadecimalValue(next) != nil { index += 1 }
    guard index > first else { throw missingDigit(from: start, kind: "a hexadecimal digit") }
    if let magnitude = UInt64(text(first..<index), radix: 16),
      let integer = integer(Digits(value: magnitude, significantCount: 0), isNegative)
    {
      return .integer(integer)
    }
    let magnitude = try finite(Double("0x" + text(first..<index)), from: start)
    try checkExactness(of: magnitude, UInt128(text(first..<index), radix: 16), from: start)
    return .number(isNegative ? -magnitude : magnitude)
  }

  private func missingDigit(from start: Int, kind: String = "a digit") -> JSONError {
    if isAtEnd { return failure(.unexpectedEnd, at: index, "the text ends inside a number") }
    if let error = notFinite(at: start) { return error }
    return unexpected("expected \(kind) after \"\(quotable(text(start..<index)))\"", code: .invalidNumber)
  }
}

extension JSONParser {
  /// Reads a string with its quotes; most have no escape and are copied in one piece.
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

  /// Continues at a string's first escape.
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

  /// Reads an escape and appends the characters that it stands for.
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

  /// Returns the scalar of a `\u` escape, or of two that are a surrogate pair.
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
      .invalidString, at: start, "\"\(text(start..<low))\" is half of a surrogate pair, which is not a character")
  }

  /// Reads exactly `count` hexadecimal digits.
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

  /// Throws for a control character inside a string; in JSON5 only for line ends.
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
