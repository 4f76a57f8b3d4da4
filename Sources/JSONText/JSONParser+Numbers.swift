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
    return .number(try double(digits, exponent, isNegative, from: start))
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
    // Any larger one makes any number that fits into memory infinite or zero.
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
    _ digits: Digits, _ exponent: Int, _ isNegative: Bool, from start: Int
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
    return .number(isNegative ? -magnitude : magnitude)
  }

  private func missingDigit(from start: Int, kind: String = "a digit") -> JSONError {
    if isAtEnd { return failure(.unexpectedEnd, at: index, "the text ends inside a number") }
    if let error = notFinite(at: start) { return error }
    return unexpected("expected \(kind) after \"\(quotable(text(start..<index)))\"", code: .invalidNumber)
  }
}
