/// Cuts a format string into words.
struct FormatLexer {
  let scalars: [Unicode.Scalar]
  private var position = 0

  init(_ format: String) { scalars = Array(format.unicodeScalars) }

  /// The text between two positions.
  func text(_ range: Range<Int>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars[range])
    return String(view)
  }

  /// An error at a position; the column counts characters.
  func error(_ code: ConditionError.Code, _ message: String, range: Range<Int>) -> ConditionError {
    let fragment = range.isEmpty ? nil : text(range)
    return ConditionError(code, message, fragment: fragment, column: text(0..<range.lowerBound).count + 1)
  }

  mutating func next() throws -> FormatToken {
    while let scalar = peek(), scalar.properties.isWhitespace { position += 1 }
    let start = position
    guard let scalar = peek() else { return FormatToken(kind: .end, start: start, end: start) }
    let kind = try kind(beginningWith: scalar)
    return FormatToken(kind: kind, start: start, end: position)
  }

  private func peek(_ distance: Int = 0) -> Unicode.Scalar? {
    position + distance < scalars.count ? scalars[position + distance] : nil
  }

  private mutating func kind(beginningWith scalar: Unicode.Scalar) throws -> FormatToken.Kind {
    let start = position
    switch scalar {
    case "'", "\"": return .string(try string(scalar))
    case "#":
      position += 1
      let name = name()
      if name.isEmpty { throw error(.syntax, "a name must follow #", range: start..<position) }
      return .escapedName(name)
    case "$":
      position += 1
      let name = name()
      if name.isEmpty { throw error(.syntax, "a name must follow $", range: start..<position) }
      return .variable(name)
    case "%": return .argument(try argument())
    case "0"..."9": return .number(try number())
    case "." where peek(1).map { ("0"..."9").contains($0) } ?? false: return .number(try number())
    case _ where Self.isNameStart(scalar): return .name(name())
    default: return .symbol(try symbol())
    }
  }

  private static func isNameStart(_ scalar: Unicode.Scalar) -> Bool { scalar == "_" || scalar.properties.isAlphabetic }

  private mutating func name() -> String {
    let start = position
    while let scalar = peek(),
      Self.isNameStart(scalar) || (position > start && scalar.properties.numericType != nil)
        || (position > start && scalar.properties.generalCategory == .nonspacingMark)
    {
      position += 1
    }
    return text(start..<position)
  }

  private mutating func number() throws -> String {
    let start = position
    if peek() == "0", let mark = peek(1), "xXoObB".unicodeScalars.contains(mark) {
      position += 2
      while let scalar = peek(), Self.isNameStart(scalar) || ("0"..."9").contains(scalar) { position += 1 }
      return text(start..<position)
    }
    skipDigits()
    if peek() == ".", let digit = peek(1), ("0"..."9").contains(digit) {
      position += 1
      skipDigits()
    }
    if peek() == "e" || peek() == "E" {
      position += 1
      if peek() == "-" || peek() == "+" { position += 1 }
      skipDigits()
    }
    if let scalar = peek(), Self.isNameStart(scalar) || !("0"..."9").contains(scalars[position - 1]) {
      _ = name()
      throw error(.syntax, "not a number", range: start..<position)
    }
    if !("0"..."9").contains(scalars[position - 1]) { throw error(.syntax, "not a number", range: start..<position) }
    return text(start..<position)
  }

  private mutating func skipDigits() {
    while let digit = peek(), ("0"..."9").contains(digit) { position += 1 }
  }

  private mutating func argument() throws -> String {
    let start = position
    position += 1
    for specifier in [
      "@", "K", "lld", "lli", "llu", "ld", "li", "lu", "lf", "hd", "hi", "hu", "zd", "zu", "d", "i", "u", "f", "g",
    ] {
      let length = specifier.unicodeScalars.count
      if position + length <= scalars.count, text(position..<(position + length)) == specifier {
        position += length
        return specifier
      }
    }
    position = min(position + 1, scalars.count)
    throw error(.syntax, "not an argument; use %@, %K, %d, %ld or %f", range: start..<position)
  }

  private mutating func symbol() throws -> String {
    for symbol in ["==", "=>", "=<", "!=", "<>", "<=", ">=", "&&", "||", "**", ":="] {
      if position + 2 <= scalars.count, text(position..<(position + 2)) == symbol {
        position += 2
        return symbol
      }
    }
    let start = position
    position += 1
    let symbol = text(start..<position)
    guard "=<>!(){}[],.-+*/@&|:".contains(symbol) else {
      throw error(.syntax, "a sign that has no meaning here", range: start..<position)
    }
    return symbol
  }

  private mutating func string(_ quote: Unicode.Scalar) throws -> String {
    let start = position
    position += 1
    var value = String.UnicodeScalarView()
    while let scalar = peek() {
      position += 1
      if scalar == quote { return String(value) }
      value.append(scalar == "\\" ? try escape() : scalar)
    }
    throw error(.syntax, "the text has no closing quotation mark", range: start..<scalars.count)
  }

  /// The scalar that an escape stands for, the backslash being read already.
  private mutating func escape() throws -> Unicode.Scalar {
    let start = position - 1
    guard let scalar = peek() else { throw error(.syntax, "nothing follows the backslash", range: start..<position) }
    position += 1
    switch scalar {
    case "\\", "'", "\"": return scalar
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "u":
      let end = min(position + 4, scalars.count)
      let digits = text(position..<end)
      position = end
      if digits.count == 4, let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) { return scalar }
      throw error(.syntax, "four hexadecimal digits of a Unicode scalar must follow \\u", range: start..<position)
    default:
      throw error(.syntax, "not an escape; a backslash itself is written as two", range: start..<position)
    }
  }
}

/// A word of a format string.
struct FormatToken {
  enum Kind: Equatable {
    /// A keyword or a property's name.
    case name(String)
    /// `#name`, which is never a keyword.
    case escapedName(String)
    case number(String)
    case string(String)
    /// An operator or a bracket.
    case symbol(String)
    /// `%@`, `%K`, `%ld` without the percent sign.
    case argument(String)
    /// `$name`.
    case variable(String)
    case end
  }

  let kind: Kind
  /// The position of its first Unicode scalar, from 0.
  let start: Int
  /// The position after its last one.
  let end: Int

  /// The name in capitals if it may be a keyword.
  var keyword: String? { if case .name(let name) = kind { name.uppercased() } else { nil } }

  /// True if it compares what stands before it.
  var isComparison: Bool {
    switch kind {
    case .symbol(let symbol): FormatParser.symbols[symbol] != nil
    case .name: keyword.map { FormatParser.words[$0] != nil || $0 == "IN" || $0 == "BETWEEN" } ?? false
    default: false
    }
  }

  func isSymbol(_ symbol: String) -> Bool { kind == .symbol(symbol) }
}
